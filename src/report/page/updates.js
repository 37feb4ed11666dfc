// Layer updates: a table of all, and for each how primal and dual closed in on one another.

// Inner epochs belong to the update that follows them. A rejected trial is solved again with a larger mu, and its epochs
// count from 1 again: they are laid end to end.
function solvesOf(run) {
  const solves = [];
  let points = [],
    offset = 0,
    last = 0;
  const add = (record) => {
    const epoch = number(record.epoch) ?? last + 1;
    if (epoch <= last) offset += last;
    last = epoch;
    points.push({ x: offset + epoch, primal: number(record.primal), dual: number(record.dual) });
  };
  const close = (update, sample) => {
    solves.push({ update, layer: sample.layer, pass: sample.pass, points });
    points = [];
    offset = last = 0;
  };
  let open = null;
  for (const record of run.records) {
    if (record.type === "inner") {
      open = record;
      add(record);
    } else if (record.type === "update") {
      const end = (points.at(-1) || { x: 0 }).x;
      points.push({
        x: Math.max(end + 1, number(record.epoch) ?? 0),
        primal: number(record.primal),
        dual: number(record.dual),
      });
      close(record, record);
      open = null;
    }
  }
  if (open) close(null, open);
  return solves;
}

const solvePlots = [];

// The first primal, before the solver has found its feet, may be so high that nothing else could be seen: the frame is
// then that of the others.
function solveRange(points) {
  const gap = (point) => point.primal - point.dual;
  const rest = points.slice(1);
  const framed = rest.length > 1 && gap(points[0]) > 3 * Math.max(...rest.map(gap)) ? rest : points;
  const all = framed.flatMap((point) => [point.primal, point.dual]);
  const low = Math.min(...all),
    high = Math.max(...all),
    space = 0.12 * (high - low || Math.abs(high) || 1);
  return [low - space, high + space];
}

function drawSolve(solve, holder) {
  const points = solve.points.filter((point) => isNumber(point.primal) && isNumber(point.dual));
  holder.replaceChildren();
  if (points.length < 2 || holder.closest("details:not([open])")) return null;
  const primal = cssColor("--series-1"),
    dual = cssColor("--series-0");
  const line = (label, stroke) => ({
    label,
    stroke,
    width: 2,
    points: { show: true, size: 4, fill: stroke },
  });
  const plot = new uPlot(
    {
      width: holder.clientWidth,
      height: 150,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false, range: (u, min, max) => [min, Math.max(max, min + 1)] },
        y: { range: solveRange(points) },
      },
      axes: [
        axis(null, {
          size: 26,
          space: 36,
          gap: 4,
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500],
          font: "11px system-ui, sans-serif",
        }),
        axis(null, {
          size: 50,
          space: 30,
          gap: 4,
          font: "11px system-ui, sans-serif",
          values: (u, splits) => splits.map((value) => short(value, 3)),
        }),
      ],
      series: [{}, line("primal", primal), line("dual", dual)],
      bands: [{ series: [1, 2], fill: cssColor("--shade") }],
      cursor: { show: false },
    },
    [points.map((p) => p.x), points.map((p) => p.primal), points.map((p) => p.dual)],
    holder,
  );
  holder.plot = plot;
  return plot;
}

// What is folded away is drawn when it is opened.
function drawMissingSolves() {
  for (const entry of solvePlots) entry.plot ??= drawSolve(entry.solve, entry.holder);
}

function redrawSolves() {
  for (const entry of solvePlots) {
    if (entry.plot) entry.plot.destroy();
    entry.plot = null;
  }
  drawMissingSolves();
}

function verdict(update) {
  if (!update) return element("span", { class: "verdict" }, "under way");
  return update.accepted === false
    ? element("span", { class: "verdict bad" }, "✕ rejected")
    : element("span", { class: "verdict good" }, "✓ accepted");
}

function solveCard(solve) {
  const { update } = solve;
  const holder = element("div", {
    class: "plot",
    role: "img",
    "aria-label": `primal and dual of ${solve.layer ?? "?"} over ${solve.points.length} inner epochs`,
    "data-solve": solve.layer ?? "?",
  });
  solvePlots.push({ solve, holder, plot: null });
  const facts = update
    ? [
        ["gap", short(update.gap, 3)],
        ["mu", short(update.mu, 3)],
        ["dual state", text(update.form ?? "–")],
        ["fall predicted", short(update.predicted, 3)],
        ["fall, actual", short(update.actual, 3)],
        ["because", text(update.reason ?? "–")],
      ]
    : [];
  return element(
    "figure",
    { class: "card" },
    element(
      "figcaption",
      {},
      element("span", {}, `${text(solve.layer ?? "?")} · pass ${text(solve.pass ?? "?")}`),
      verdict(update),
    ),
    holder,
    element(
      "dl",
      {},
      ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
    ),
  );
}

function updatesTable(run) {
  const updates = recordsOf(run, "update");
  const largest = Math.max(
    1e-300,
    ...updates.flatMap((update) => [update.predicted, update.actual]).filter(isNumber),
  );
  // Both to one scale: above what the surrogate promised, below what the network gave.
  const bar = (value) =>
    element("i", { style: `width: ${Math.round((100 * Math.max(0, number(value) ?? 0)) / largest)}%` });
  const rows = updates.map((update) => [
    text(update.layer ?? "?"),
    text(update.pass ?? "–"),
    `${objective(update.before)} → ${objective(update.objective)}`,
    percent(update.val_accuracy),
    short(update.predicted, 3),
    short(update.actual, 3),
    [element("span", { class: "bars", "aria-hidden": "true" }, bar(update.predicted), bar(update.actual))],
    isNumber(update.predicted) && update.predicted !== 0 && isNumber(update.actual)
      ? (update.actual / update.predicted).toFixed(2).replace("-", "−")
      : "–",
    [verdict(update)],
  ]);
  return element(
    "div",
    { class: "scroll" },
    table(
      [
        "layer",
        "pass",
        "objective",
        "validation",
        "fall predicted",
        "fall, actual",
        "",
        "actual / predicted",
        "",
      ],
      rows,
      (c) => (c > 0 && c < 6) || c === 7,
      { class: "stack" },
    ),
  );
}

const refined = runs.filter((run) => run.refine && solvesOf(run).length > 0);
for (const run of refined) {
  const section = byId("updates");
  section.hidden = false;
  const solves = solvesOf(run);
  const key = (name, color) =>
    element(
      "span",
      {},
      element("span", { class: "chip", style: `border-color: var(${color})`, "aria-hidden": "true" }),
      name,
    );
  const part = folded(
    run,
    refined.length > 1,
    recordsOf(run, "update").length > 0 ? updatesTable(run) : null,
    element(
      "div",
      { class: "key" },
      key("primal, from above", "--series-1"),
      key("dual, from below", "--series-0"),
      element("span", {}, "against inner epochs; the first may begin above the frame"),
    ),
    element("div", { class: "cards" }, ...solves.map(solveCard)),
  );
  part.addEventListener("toggle", drawMissingSolves);
  section.append(part);
}
drawMissingSolves();
themeListeners.push(redrawSolves);
addEventListener("resize", () => {
  for (const { plot, holder } of solvePlots)
    if (plot && holder.clientWidth > 0) plot.setSize({ width: holder.clientWidth, height: 150 });
});
