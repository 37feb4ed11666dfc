// What the page's parts share, and its plain parts: summary, tables, settings, downloads, theme.
//
// Whatever comes from the data is set as text, never as markup.
"use strict";

const report = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

// element("td", {class: "number"}, "12", otherElement)
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false)
      made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// --- numbers as people read them

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const number = (value) => (isNumber(value) ? value : null);

function short(value, digits = 4) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  const rounded =
    size !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(digits - 1) : value.toPrecision(digits);
  const [mantissa, exponent] = rounded.split("e");
  const trimmed = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return (trimmed + (exponent ? "e" + exponent.replace("+", "") : "")).replaceAll("-", "−");
}
// An objective keeps its zeros, so that columns line up.
function objective(value) {
  if (!isNumber(value)) return "–";
  return Math.abs(value) >= 0.001 && Math.abs(value) < 1000 ? value.toFixed(4) : short(value);
}
const percent = (value, digits = 2) => (isNumber(value) ? (100 * value).toFixed(digits) + "%" : "–");
const count = (value) => (isNumber(value) ? value.toLocaleString("en-US") : "–");
const signed = (text) => (/^[−-]/.test(text) ? text.replace("-", "−") : "+" + text);
function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  const whole = Math.round(seconds),
    two = (value) => String(value).padStart(2, "0");
  const words =
    seconds < 60
      ? `${seconds < 10 ? Math.round(seconds * 10) / 10 : whole} s`
      : whole < 3600
        ? `${Math.floor(whole / 60)} m ${two(whole % 60)} s`
        : `${count(Math.floor(whole / 3600))} h ${two(Math.floor((whole % 3600) / 60))} m`;
  return words.replaceAll(" ", "\u00a0");
}
const plural = (amount, word) => `${count(amount)} ${word}${amount === 1 ? "" : "s"}`;

// --- runs

const kSolverNames = { adam: "Adam", adadelta: "Adadelta", adagrad: "Adagrad", nesterov: "Nesterov" };

const recordsOf = (run, type) => run.records.filter((record) => record.type === type);
const firstOf = (run, type) => recordsOf(run, type)[0] || {};
const settingsOf = (run) => firstOf(run, "run").settings || {};
const isRefine = (run) => firstOf(run, "run").command === "refine" || recordsOf(run, "update").length > 0;
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function plainLabel(run, depth = 0) {
  const settings = settingsOf(run);
  if (!isRefine(run)) {
    const solver = kSolverNames[settings.solver] || (settings.solver ? text(settings.solver) : run.name);
    return run.shorter >= 0 ? `${solver}, longer` : solver;
  }
  const method = settings.mode === "paper" ? "LW-SVM (paper)" : "LW-SVM";
  const parent = report.runs[run.parent];
  return parent && depth < 3 ? `${method} after ${plainLabel(parent, depth + 1)}` : method;
}

// Quality at the end: as the run itself says, else as its last record does. The test accuracy of a run without a last
// word may be known to the run that begins with its network, or to the gallery.
function finalOf(run, index) {
  const end = firstOf(run, "end");
  const steps = [firstOf(run, "run").start || {}, ...recordsOf(run, isRefine(run) ? "update" : "epoch")];
  const last = steps.findLast((record) => isNumber(record.objective)) || {};
  const child = report.runs.find((other) => other.parent === index && isRefine(other));
  const gallery = report.galleries.find((entry) => entry.run === index && entry.part === "test");
  const known = [
    end.test_accuracy,
    child && (firstOf(child, "run").start || {}).test_accuracy,
    gallery && gallery.accuracy.after,
  ];
  const pick = (key) => number(end[key]) ?? number(last[key]);
  return {
    objective: pick("objective"),
    train_accuracy: pick("train_accuracy"),
    val_accuracy: pick("val_accuracy"),
    test_accuracy: known.find(isNumber) ?? null,
    seconds: number(end.seconds) ?? number(run.seconds),
  };
}

// The update after which a refine run's network was the one that it kept in the end.
function keptUpdate(run) {
  const { objective: kept } = firstOf(run, "end");
  return (
    recordsOf(run, "update")
      .filter((update) => isNumber(kept) && Math.abs(update.objective - kept) <= 1e-9 * Math.abs(kept))
      .at(-1) || null
  );
}

// Runs with everything that several parts need: a label of their own, a colour (a longer run shares that of the run
// that it continues), their quality in the end and at the start.
const runs = report.runs.map((run, index) => ({
  ...run,
  index,
  refine: isRefine(run),
  label: plainLabel(run),
  final: finalOf(run, index),
  start: firstOf(run, "run").start || settingsOf(run).start || null,
  kept: keptUpdate(run),
}));
for (const run of runs) {
  const alike = runs.filter((other) => plainLabel(other) === plainLabel(run));
  if (alike.length > 1)
    run.label += alike.some((other) => other !== run && other.name === run.name)
      ? ` (${run.folder})`
      : ` (${run.name})`;
}
{
  let next = 0;
  for (const run of runs) run.color = run.shorter >= 0 ? null : next++ % 6;
  for (const run of runs) run.color ??= runs[run.shorter].color ?? 0;
}
const colorOf = (run) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--series-${run.color}`).trim();
const chip = (run) =>
  element("span", {
    class: run.shorter >= 0 ? "chip dashed" : "chip",
    style: `border-color: var(--series-${run.color})`,
    "aria-hidden": "true",
  });

// --- tables

// cells: text, or elements; `numeric` tells which columns stand to the right. On a phone a table of class "stack" is a list
// of rows, and each cell names its column.
function table(headings, rows, numeric = () => false, attributes = {}) {
  const align = (column) => ({ class: numeric(column) ? "number" : null });
  return element(
    "table",
    attributes,
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...headings.map((heading, c) => element("th", { scope: "col", ...align(c) }, heading)),
      ),
    ),
    element(
      "tbody",
      {},
      ...rows.map((row) =>
        element(
          "tr",
          {},
          ...row.map((cell, c) =>
            c === 0
              ? element("th", { scope: "row" }, ...[cell].flat())
              : element("td", { ...align(c), "data-label": headings[c] }, ...[cell].flat()),
          ),
        ),
      ),
    ),
  );
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
    const last = recordsOf(run, "update").at(-1);
    const earlier = run.kept && last && run.kept !== last;
    return [
      [
        chip(run),
        run.label,
        element("small", {}, details.join(" · ")),
        earlier
          ? element("small", {}, "kept an earlier network, the one with the best validation accuracy")
          : null,
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
  if (extra.caption) section.append(element("h2", {}, extra.caption));
  section.append(
    element(
      "div",
      { class: "scroll" },
      table(
        extra.headings,
        extra.rows.map((row) => extra.headings.map((_, c) => row[c] ?? "")),
        (c) => isNumeric[c],
      ),
    ),
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
    element("p", { class: "hint" }, "The logs as tables, one line a record, for a spreadsheet or a script:"),
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

// --- theme: the system's, until the button is pressed; listeners redraw what is not CSS

const themeListeners = [];
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light theme" : "Dark theme";
  for (const listener of themeListeners) listener();
}
{
  const wish = matchMedia("(prefers-color-scheme: dark)");
  let chosen = false;
  setTheme(wish.matches ? "dark" : "light");
  wish.addEventListener("change", () => chosen || setTheme(wish.matches ? "dark" : "light"));
  byId("theme").addEventListener("click", () => {
    chosen = true;
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  });
}
const cssColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

showHeadline();
showWarnings();
showExtraTable();
showRuns();
showSettings();
