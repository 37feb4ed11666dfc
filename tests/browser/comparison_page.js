// node comparison_page.js CHROMIUM REPORT.html SOLVER...: the page of a reproduction, where each solver has a run, a longer
// one, and three refinements: all side by side, or one at a time. Prints what is wrong; exit code 1 if something is.
"use strict";
const { expect, inBrowser, run } = require("./check.js");

const [chromium, report, ...solvers] = process.argv.slice(2);
const kRunsOfASolver = 5;

const shownSeries = (page) =>
  page.value(
    `document.querySelector('[data-figure="objective"]').plot.series.slice(1).filter((s) => s.show).map((s) => s.label)`,
  );
const latestTime = (page) =>
  page.value(`document.querySelector('[data-figure="objective"]').plot.scales.x.max`);

async function checkTable(page, where) {
  const rows = await page.value(`document.querySelectorAll("#extra tbody tr").length`);
  expect(rows === kRunsOfASolver * solvers.length, `${where}: the table has a row for each run: ${rows}`);
  const groups = await page.value(`document.querySelectorAll("#extra tbody .ends-group").length`);
  expect(groups === solvers.length - 1, `${where}: and a line between solvers: ${groups}`);
  const title = await page.value(`document.querySelector("#extra h2").textContent`);
  expect(title.length > 0 && title.length < 40, `${where}: its title is short: "${title}"`);
}

// One colour a role, whatever the solver.
async function checkColours(page, where) {
  const colours = await page.value(
    `[...document.querySelectorAll("#legend .chip")].map((c) => getComputedStyle(c).borderTopColor)`,
  );
  for (let k = 0; k < colours.length; ++k)
    expect(colours[k] === colours[k % kRunsOfASolver], `${where}: run ${k} has the colour of its role`);
  expect(new Set(colours).size === 4, `${where}: solver, refine, LW-SVM and LW-SVM as published differ: ${colours}`);
}

async function checkFamilies(page, where) {
  const names = await page.value(`[...document.querySelectorAll("#families button")].map((b) => b.textContent)`);
  expect(JSON.stringify(names) === JSON.stringify(["All", ...solvers]), `${where}: one may choose: ${names}`);
  const whole = await latestTime(page);
  let latest = 0;
  for (const [k, solver] of solvers.entries()) {
    await page.click(`#families button:nth-child(${k + 2})`);
    const shown = await shownSeries(page);
    expect(
      shown.length === kRunsOfASolver && shown.every((label) => label.includes(solver)),
      `${where}: ${solver} alone is shown: ${shown}`,
    );
    const buttons = await page.value(
      `[...document.querySelectorAll("#legend button")].filter((b) => b.offsetWidth > 0).length`,
    );
    expect(buttons === kRunsOfASolver, `${where}: and in the legend: ${buttons}`);
    latest = Math.max(latest, await latestTime(page));
  }
  expect(Math.abs(latest - whole) < 1e-9, `${where}: the axis ends where the runs shown end: ${latest}, ${whole}`);
  await page.click("#families button:first-child");
  const all = await shownSeries(page);
  expect(all.length === kRunsOfASolver * solvers.length, `${where}: all are back: ${all}`);
  expect((await latestTime(page)) === whole, `${where}: with all of the time`);
}

// Only the run that the page is about is unfolded; another is drawn once it is.
async function checkFolds(page, where) {
  const folds = (rest) => page.value(`[...document.querySelectorAll("#updates details")]${rest}`);
  expect((await folds(".length")) === 3 * solvers.length, `${where}: every refinement has a part`);
  expect((await folds(".filter((d) => d.open).length")) === 1, `${where}: one is open`);
  const closed = await folds(".findIndex((d) => !d.open)");
  const drawn = () =>
    folds(`[${closed}].querySelectorAll("[data-solve] canvas").length`);
  expect((await drawn()) === 0, `${where}: a closed one is not drawn`);
  await page.click(`#updates details:nth-of-type(${closed + 1}) > summary`);
  expect((await drawn()) > 0, `${where}: an opened one is`);
}

run(() =>
  inBrowser(chromium, async (page) => {
    for (const [width, theme] of [
      [1280, "dark"],
      [380, "light"],
    ]) {
      const where = `${width} px, ${theme}`;
      await page.show(report, width, theme);
      await checkTable(page, where);
      await checkColours(page, where);
      await checkFamilies(page, where);
      await checkFolds(page, where);
      expect(
        (await page.value("document.documentElement.scrollWidth")) <= width,
        `${where}: nothing is wider than the page`,
      );
    }
  }),
);
