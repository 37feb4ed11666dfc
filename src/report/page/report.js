// The plain parts of the page: headline, warnings, tables of runs, settings, downloads.

// A refine run keeps the network with the best validation accuracy, which need not be its last.
function keptNote(run) {
  const updates = recordsOf(run, "update");
  const words =
    updates.length === 0 || !run.start || !firstOf(run, "end").type
      ? null
      : run.kept && run.kept !== updates.at(-1)
        ? "kept an earlier network, the one with the best validation accuracy"
        : !run.kept && run.final.objective === run.start.objective
          ? "kept the network that it started from: validation accuracy fell"
          : null;
  return words && element("small", {}, words);
}

function showRuns() {
  const rows = runs.map((run) => {
    const settings = settingsOf(run);
    const details = [settings.data, settings.arch, run.folder].filter(
      (value) => typeof value === "string" && value,
    );
    const epochs = Math.max(0, ...recordsOf(run, "epoch").map((record) => number(record.epoch) ?? 0));
    const asked = !firstOf(run, "end").type && settings.epochs > epochs ? `${count(epochs)} of ` : "";
    const steps = run.refine
      ? plural(recordsOf(run, "update").length, "layer update")
      : asked + plural(asked ? settings.epochs : epochs, "epoch");
    const before = (key, format) =>
      (run.refine && run.start && isNumber(run.start[key]) ? `${format(run.start[key])} → ` : "") +
      format(run.final[key]);
    return [
      [
        chip(run),
        run.label,
        element("small", {}, details.join(" · ")),
        keptNote(run),
      ].filter(Boolean),
      steps,
      before("objective", objective),
      before("train_accuracy", percent),
      before("val_accuracy", percent),
      before("test_accuracy", percent),
      duration(run.final.seconds),
    ];
  });
  byId("runs-table").append(
    table(["run", "steps", "objective", "training", "validation", "test", "time"], rows, (c) => c > 1, {
      class: "stack",
    }),
  );
}

function showExtraTable() {
  const extra = report.table;
  if (!extra || !extra.headings.length) return;
  const isNumeric = extra.headings.map(
    (_, c) => c > 0 && extra.rows.every((row) => /^[\s\d.,%+−–:xsmh-]*$/.test(row[c] ?? "")),
  );
  const section = byId("extra");
  section.hidden = false;
  const made = table(
    extra.headings,
    extra.rows.filter((row) => row.length > 0).map((row) => extra.headings.map((_, c) => row[c] ?? "")),
    (c) => isNumeric[c],
    { class: "results" },
  );
  for (const row of made.rows)
    for (const column of extra.beside) row.cells[column].classList.add("beside");
  // An empty row ends a group.
  let line = 0;
  for (const row of extra.rows) {
    if (row.length > 0) ++line;
    else made.rows[line].classList.add("ends-group");
  }
  section.append(
    element("h2", { id: "extra-title" }, extra.title || "Table"),
    element("div", { class: "scroll" }, made),
    extra.caption ? element("p", { class: "hint" }, extra.caption) : "",
  );
}

// --- headline: of the refine run that ends lowest, else of the train run that does

function headline() {
  const pool = runs.some((run) => run.refine) ? runs.filter((run) => run.refine) : runs;
  return pool
    .filter((run) => isNumber(run.final.objective))
    .sort((a, b) => a.final.objective - b.final.objective)[0];
}

function tile(what, now, was, better) {
  return element(
    "div",
    { class: "tile" },
    element("div", { class: "what" }, what),
    element("div", { class: "now" }, now),
    element("div", { class: better === undefined ? "was" : `was ${better ? "good" : "bad"}` }, was),
  );
}

function accuracyTile(run, key, what) {
  const now = run.final[key],
    was = run.start && run.start[key];
  if (!isNumber(now)) return null;
  if (!isNumber(was)) return tile(what, percent(now), "at the end");
  return tile(
    what,
    percent(now),
    `${signed((100 * (now - was)).toFixed(2))} points from ${percent(was)}`,
    now >= was,
  );
}

function showHeadline() {
  const run = headline();
  if (!run) {
    byId("summary").append("The logs hold no evaluated step yet.");
    return;
  }
  const strong = (value) => element("b", {}, value);
  const { final, start } = run;
  const accuracy = ["test_accuracy", "val_accuracy", "train_accuracy"].find((key) => isNumber(final[key]));
  const word = { test_accuracy: "test", val_accuracy: "validation", train_accuracy: "training" }[accuracy];
  const lead = byId("summary");
  if (run.refine && start && isNumber(start.objective)) {
    const updates = recordsOf(run, "update");
    const rejected = updates.filter((update) => update.accepted === false).length;
    lead.append(
      `${run.label} took the training objective from `,
      strong(objective(start.objective)),
      " to ",
      strong(objective(final.objective)),
    );
    if (accuracy && isNumber(start[accuracy]))
      lead.append(
        ` and ${word} accuracy from `,
        strong(percent(start[accuracy])),
        " to ",
        strong(percent(final[accuracy])),
      );
    lead.append(
      ` in ${duration(final.seconds)}: ${plural(updates.length, "layer update")}, ${rejected || "none"} rejected.`,
    );
  } else {
    lead.append(`${run.label} reached a training objective of `, strong(objective(final.objective)));
    if (accuracy) lead.append(` and ${percent(final[accuracy])} ${word} accuracy`);
    lead.append(` in ${duration(final.seconds)}.`);
  }
  const change = start && isNumber(start.objective) ? final.objective / start.objective - 1 : null;
  byId("tiles").append(
    ...[
      change === null
        ? tile("objective", objective(final.objective), "at the end")
        : tile(
            "objective",
            objective(final.objective),
            `${signed((100 * change).toFixed(1))}% from ${objective(start.objective)}`,
            change <= 0,
          ),
      accuracyTile(run, "test_accuracy", "test accuracy"),
      accuracyTile(run, "val_accuracy", "validation accuracy"),
      accuracyTile(run, "train_accuracy", "training accuracy"),
    ].filter(Boolean),
  );
}

function showWarnings() {
  const list = byId("warnings");
  list.hidden = report.warnings.length === 0;
  list.append(...report.warnings.map((warning) => element("li", {}, warning)));
}

// --- settings, machine, versions; downloads

function download(name, content) {
  const link = element("a", {
    download: name,
    href: URL.createObjectURL(new Blob([content], { type: "text/csv" })),
  });
  link.click();
  URL.revokeObjectURL(link.href);
}

function showSettings() {
  const section = byId("settings");
  section.append(
    element("p", { class: "hint" }, "The logs as tables, one line per record, for a spreadsheet or a script:"),
    element(
      "div",
      { class: "downloads" },
      ...runs.map((run) => {
        const button = element(
          "button",
          { type: "button", "data-csv": run.index },
          `Download ${run.label}.csv`,
        );
        button.addEventListener("click", () => download(`${run.name}.csv`, run.csv));
        return button;
      }),
    ),
  );
  const facts = runs.map((run) => {
    const record = firstOf(run, "run");
    const rows = { folder: run.folder };
    for (const [key, value] of Object.entries(record)) {
      if (key === "settings" || key === "type" || key === "start") continue;
      rows[key] = value;
    }
    for (const [key, value] of Object.entries(settingsOf(run))) if (key !== "start") rows[`--${key}`] = value;
    return rows;
  });
  const keys = [...new Set(facts.flatMap((rows) => Object.keys(rows)))];
  const shown = (value) => (value === undefined || value === null || value === "" ? "–" : text(value));
  section.append(
    element(
      "details",
      {},
      element("summary", {}, "All settings, machine and version"),
      element(
        "div",
        { class: "scroll" },
        table(
          ["", ...runs.map((run) => run.label)],
          keys.map((key) => [
            key.replaceAll("_", " ").replace(/^--/, ""),
            ...facts.map((rows) => shown(rows[key])),
          ]),
          () => false,
          { class: "settings" },
        ),
      ),
    ),
  );
  byId("footer").append(
    `Made by ${report.version}. Curves: uPlot 1.6.32, © Leon Sorokin, MIT licence (its text is in this page's source).`,
  );
}


showHeadline();
showWarnings();
showExtraTable();
showRuns();
showSettings();
