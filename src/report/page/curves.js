// The figures: objective, training and validation accuracy of all runs against time, on one clock.

const kFigures = [
  { key: "objective", title: "Training objective", word: "objective", format: objective, height: 360 },
  { key: "train_accuracy", title: "Training accuracy", word: "train", format: percent, height: 290 },
  { key: "val_accuracy", title: "Validation accuracy", word: "val", format: percent, height: 290 },
];
const kLabelFont = "12px system-ui, sans-serif";

// Cross-entropy and hinge loss cannot be compared: beside refinements, the objective is that of the hinge loss.
const hasOtherLoss = (run) => runs.some((other) => other.refine) && !run.refine && settingsOf(run).loss === "ce";

// The evaluated steps of a run: { t, objective, train_accuracy, val_accuracy, update }.
function pointsOf(run) {
  const point = (record, t, update = null) => ({
    t,
    update,
    objective: hasOtherLoss(run) ? null : number(record.objective),
    train_accuracy: number(record.train_accuracy),
    val_accuracy: number(record.val_accuracy),
  });
  // train --eval-every leaves epochs out.
  const timed = (type) =>
    recordsOf(run, type).filter(
      (record) => isNumber(record.seconds) && kFigures.some((figure) => isNumber(record[figure.key])),
    );
  if (run.refine) {
    const start = run.start ? [point(run.start, run.shift)] : [];
    return start.concat(timed("update").map((record) => point(record, run.shift + record.seconds, record)));
  }
  // A longer run is drawn from the last point that it shares with the shorter one.
  const all = timed("epoch");
  const shared =
    run.shared_epochs > 0 ? (number(recordsOf(run, "epoch")[run.shared_epochs - 1].seconds) ?? 0) : -Infinity;
  const before = all.filter((record) => record.seconds < shared).length;
  return all.slice(before).map((record) => point(record, run.shift + record.seconds));
}

const drawn = runs
  .map((run) => ({ run, points: pointsOf(run), visible: true }))
  .filter((curve) => curve.points.length > 0);
const charts = [];
const markBand = drawn.some(({ points }) => points.some((point) => point.update)) ? 46 : 10; // above the plot, for names of layers

// --- axes

const kTimeSteps = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400,
  172800, 432000,
];
function timeTick(seconds, step) {
  if (seconds === 0) return "0";
  if (step < 60 && seconds < 120) return `${Math.round(seconds * 10) / 10} s`;
  if (seconds < 3600)
    return step < 60
      ? `${Math.floor(seconds / 60)}m${String(Math.round(seconds % 60)).padStart(2, "0")}`
      : `${Math.round(seconds / 60)} min`;
  const hours = Math.floor(seconds / 3600),
    minutes = Math.round((seconds % 3600) / 60);
  return minutes ? `${hours}h${String(minutes).padStart(2, "0")}` : `${hours} h`;
}

// 1, 2, 3, 5, 7 of every decade; only 1, 2, 5 or 1 where that would be many.
function logSplits(min, max) {
  for (const digits of [[1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8], [1, 2, 3, 5, 7], [1, 2, 5], [1]]) {
    const splits = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); ++power) {
      for (const digit of digits) splits.push(Number((digit * 10 ** power).toPrecision(3)));
    }
    const inside = splits.filter((value) => value >= min && value <= max);
    if (inside.length <= 9 || digits.length === 1) return inside;
  }
}

const valuesOf = (key) => drawn.flatMap((curve) => curve.points.map((point) => point[key])).filter(isNumber);
function logHelps() {
  const values = valuesOf("objective");
  return values.length > 0 && Math.min(...values) > 0 && Math.max(...values) > 4 * Math.min(...values);
}
const canLog = () => valuesOf("objective").every((value) => value > 0);

function axis(format, extra) {
  return {
    stroke: cssColor("--muted"),
    grid: { stroke: cssColor("--grid"), width: 1 },
    ticks: { show: false },
    font: kLabelFont,
    gap: 8,
    ...extra,
  };
}

function yAxis(figure, log) {
  if (figure.key !== "objective") {
    return axis(null, {
      size: 58,
      values: (u, splits) => {
        const step = splits.length > 1 ? splits[1] - splits[0] : 1;
        return splits.map((value) => percent(value, step >= 0.0099 ? 0 : step >= 0.00099 ? 1 : 2));
      },
    });
  }
  const values = (u, splits) => splits.map((value) => short(value, 3));
  return axis(null, {
    size: 58,
    values,
    ...(log ? { splits: (u, a, min, max) => logSplits(min, max), filter: (u, splits) => splits } : {}),
  });
}

// --- a chart

function makeChart(figure, holder) {
  const log = figure.key === "objective" && byId("log-scale").checked;
  const data = uPlot.join(
    drawn.map((curve) => [
      curve.points.map((point) => point.t),
      curve.points.map((point) => point[figure.key]),
    ]),
  );
  // With nothing to show uPlot asks with null, and on a log scale zero has no end.
  const logPadded = (u, min, max) =>
    min === null ? [0.1, 1] : [min * (sideBySide ? 0.88 : 0.94), max * 1.06];
  const padded = (u, min, max) => {
    const space = (max - min || Math.abs(max) || 1) * 0.06;
    return figure.key === "objective"
      ? [min - space, max + space]
      : [Math.max(0, min - space), Math.min(1, max + space)];
  };
  const options = {
    width: holder.clientWidth,
    height: figure.height,
    padding: [markBand, 34, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, range: () => [0, timeShown()] },
      y: log ? { distr: 3, range: logPadded } : { range: padded },
    },
    axes: [
      axis(null, {
        incrs: kTimeSteps,
        space: 70,
        size: 34,
        values: (u, splits, a, space, step) => splits.map((value) => timeTick(value, step)),
      }),
      yAxis(figure, log),
    ],
    series: [
      {},
      ...drawn.map(({ run, points, visible }) => ({
        label: run.label,
        show: visible,
        stroke: colorOf(run),
        width: run.refine ? 2.5 : 2,
        spanGaps: true,
        dash: run.shorter >= 0 ? [6, 4] : undefined,
        points: {
          show: run.refine || points.length <= 40,
          size: run.refine ? 8 : 5,
          fill: run.refine ? cssColor("--page") : colorOf(run),
          width: 2,
        },
      })),
    ],
    cursor: {
      dataIdx: nearestIndex,
      sync: { key: "figures" },
      y: false,
      drag: { x: false, y: false },
      points: { size: 11, width: 2, fill: (u, k) => colorOf(drawn[k - 1].run), stroke: cssColor("--page") },
    },
    hooks: {
      init: [
        (u) => {
          u.figure = figure;
        },
      ],
      drawClear: [drawShades],
      draw: [drawMarks, drawKept],
      setCursor: [showTip],
    },
  };
  holder.replaceChildren();
  const chart = new uPlot(options, data, holder);
  chart.tip = element("div", { class: "tip", role: "status", hidden: true });
  holder.append(chart.tip);
  chart.over.addEventListener("pointerenter", () => {
    chart.hovered = true;
  });
  chart.over.addEventListener("pointerleave", () => {
    chart.hovered = false;
    chart.tip.hidden = true;
  });
  holder.plot = chart; // for whoever wants to look at it from outside
  return chart;
}

function buildCharts() {
  for (const chart of charts) {
    if (chart.plot) chart.plot.destroy();
    chart.plot = makeChart(chart.figure, chart.holder);
  }
}

// Shows the curves that `wanted` says, and the time that they took.
function show(wanted) {
  for (const curve of drawn) curve.visible = wanted(curve);
  for (const { plot } of charts)
    plot.batch(() => {
      drawn.forEach(({ visible }, k) => plot.setSeries(k + 1, { show: visible }));
      plot.setScale("x", { min: 0, max: timeShown() });
    });
  for (const curve of drawn) curve.button.setAttribute("aria-pressed", String(curve.visible));
}

const timeShown = () =>
  Math.max(...drawn.filter((curve) => curve.visible).map((curve) => curve.points.at(-1).t), 0) || 1;

function showLegend() {
  for (const curve of drawn) {
    curve.button = element(
      "button",
      { type: "button", "aria-pressed": "true" },
      chip(curve.run),
      curve.run.label,
    );
    curve.button.addEventListener("click", () =>
      show((other) => (other === curve ? !curve.visible : other.visible)),
    );
  }
  byId("legend").append(...drawn.map((curve) => curve.button));
}

// One solver with what became of it, or all.
function showFamilies() {
  const holder = byId("families");
  const choice = (name, belongs) => {
    const button = element("button", { type: "button", "aria-pressed": "false" }, name);
    button.addEventListener("click", () => {
      for (const other of holder.children) other.setAttribute("aria-pressed", String(other === button));
      for (const curve of drawn) curve.button.hidden = !belongs(curve.run);
      show((curve) => belongs(curve.run));
    });
    return button;
  };
  const all = choice("All", () => true);
  all.setAttribute("aria-pressed", "true");
  holder.append(all, ...families.map(({ root, name }) => choice(name, (run) => run.family === root)));
  holder.hidden = false;
}

if (drawn.length > 0) {
  byId("figures").hidden = false;
  byId("figures-hint").textContent =
    (drawn.some(({ run }) => run.refine)
      ? drawn.filter(({ run }) => run.refine).length > kMaxNamedRuns
        ? `Every layer update is a point; with ${kMaxNamedRuns} refinements or fewer on show they are named. `
        : "Every layer update is marked and named. "
      : "") +
    (drawn.some(({ run }) => run.refine && run.parent >= 0)
      ? "Refining is drawn from the end of the run that made its network. "
      : "") +
    (drawn.some(({ run }) => run.kept) ? "The filled point is the network that was kept. " : "") +
    (drawn.some(({ run }) => run.shorter >= 0) ? "Dashed: the same training, continued. " : "") +
    "Point at a curve for its values, or move with the arrow keys.";
  byId("log-scale").checked = logHelps();
  byId("log-scale").disabled = !canLog();
  showLegend();
  if (sideBySide) showFamilies();
  for (const figure of kFigures.filter((candidate) => valuesOf(candidate.key).length > 0)) {
    const holder = element("div", {
      class: "plot",
      tabindex: "0",
      role: "group",
      "aria-label": `${figure.title} against time; arrow keys move from step to step`,
      "data-figure": figure.key,
    });
    byId("charts").append(element("figure", {}, element("figcaption", {}, figure.title), holder));
    const chart = { figure, holder, plot: null };
    holder.addEventListener("keydown", (event) => moveByKey(chart.plot, event));
    holder.addEventListener("blur", () => {
      chart.plot.hovered = false;
      chart.plot.tip.hidden = true;
    });
    new ResizeObserver(
      () =>
        chart.plot &&
        holder.clientWidth > 0 &&
        chart.plot.setSize({ width: holder.clientWidth, height: figure.height }),
    ).observe(holder);
    charts.push(chart);
  }
  buildCharts();
  byId("log-scale").addEventListener("change", buildCharts);
  themeListeners.push(buildCharts);
}
