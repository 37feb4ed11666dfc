// What the page's parts share: the data, elements, numbers as people read them, the runs, tables, the theme.
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
// As the run was last told: train --resume may change some.
const settingsOf = (run) =>
  (recordsOf(run, "resume").at(-1) || {}).settings || firstOf(run, "run").settings || {};
const isRefine = (run) => firstOf(run, "run").command === "refine" || recordsOf(run, "update").length > 0;
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function plainLabel(run, depth = 0) {
  const settings = settingsOf(run);
  if (!isRefine(run)) {
    if (settings.epochs === 0 && !settings.init) return "random weights";
    const solver = kSolverNames[settings.solver] || (settings.solver ? text(settings.solver) : run.name);
    return solver + (settings.loss === "ce" ? ", cross-entropy" : "") + (run.shorter >= 0 ? ", longer" : "");
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

// A family is a training run with what continues it and what refines it; its root is where it began.
function rootOf(index, depth = 0) {
  const { shorter, parent } = report.runs[index];
  const before = shorter >= 0 ? shorter : parent;
  return before >= 0 && depth < 10 ? rootOf(before, depth + 1) : index;
}
function roleOf(run, index) {
  if (isRefine(run)) {
    if (settingsOf(run).mode === "paper") return "paper";
    return settingsOf(run).moves === "layers" ? "layers" : "refine";
  }
  if (run.shorter >= 0) return "longer";
  return report.runs.some((other) => other.parent === index && !isRefine(other)) ? "pretrain" : "train";
}

// Runs with everything that several parts need: a label of their own, a colour, their quality in the end and at the
// start.
const runs = report.runs.map((run, index) => ({
  ...run,
  index,
  refine: isRefine(run),
  label: plainLabel(run),
  family: rootOf(index),
  role: roleOf(run, index),
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
const families = [...new Set(runs.map((run) => run.family))].map((root) => {
  const { solver } = settingsOf(runs[root]);
  const alike = runs.filter((run) => run.family === run.index && settingsOf(run).solver === solver);
  const plain = alike.length === 1 && kSolverNames[solver];
  return { root, name: plain || runs[root].label, brief: plain || runs[root].name };
});
// Several solvers, each with what became of it: then a colour stands for a role, the same in every family. Else for a
// run; a longer one shares that of the run that it continues.
const sideBySide =
  families.length > 1 &&
  families.every(({ root }) => runs.some((run) => run.family === root && run.refine && run.index !== root)) &&
  new Set(runs.map((run) => `${run.family} ${run.role}`)).size === runs.length;
if (sideBySide) {
  const colors = { train: 0, longer: 0, refine: 1, layers: 3, paper: 2, pretrain: 5 };
  for (const run of runs) run.color = colors[run.role];
} else {
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

// One of several runs in a section: folded away unless it is the one that the page is about.
function folded(run, several, ...children) {
  if (!several) return element("div", {}, ...children);
  const fold = element("details", { class: "run" }, element("summary", {}, chip(run), run.label), ...children);
  fold.open = run === headline();
  return fold;
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
