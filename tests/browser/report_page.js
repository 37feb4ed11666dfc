// node report_page.js CHROMIUM REPORT.html CSV_FOLDER LOG.jsonl...: looks at a report as a person would, in a browser, and
// compares what it shows with the logs. Prints what is wrong; exit code 1 if something is.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { expect, inBrowser, run } = require("./check.js");

const [chromium, report, csvFolder, ...logs] = process.argv.slice(2);
const kFigures = ["objective", "train_accuracy", "val_accuracy"];
const runs = logs.map((file) =>
  fs
    .readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line)),
);
const refineIndex = runs.findIndex((records) => records[0].command === "refine");
const updates = runs[refineIndex].filter((record) => record.type === "update");
const longerIndex = runs.findIndex((records, k) => k > 0 && records[0].command === "train");

// As many as the log evaluates: a refine run's start counts; a longer run begins at the last epoch of the shorter one.
function pointsInLog(k) {
  if (k === refineIndex) return 1 + updates.length;
  const epochs = (records) => records.filter((record) => record.type === "epoch").length;
  return k === longerIndex ? epochs(runs[k]) - epochs(runs[0]) + 1 : epochs(runs[k]);
}

const plot = (key) => `document.querySelector('[data-figure="${key}"]').plot`;

// Looks for two seconds, at most: on a busy machine a curve may be drawn some frames after it was asked for.
async function comesTrue(look) {
  for (let round = 0; round < 40; ++round) {
    if (await look()) return true;
    await new Promise((done) => setTimeout(done, 50));
  }
  return false;
}
const isPainted = (page, key, series) => comesTrue(() => isPaintedNow(page, key, series));
const isGone = (page, key, series) => comesTrue(async () => !(await isPaintedNow(page, key, series)));

// Whether near the last point of a series the colour that the legend promises is on the canvas.
const isPaintedNow = (page, key, series) =>
  page.value(`(() => {
  const u = ${plot(key)}, values = u.data[${series}], i = values.findLastIndex((v) => v != null);
  const x = Math.round(u.valToPos(u.data[0][i], "x", true)), y = Math.round(u.valToPos(values[i], "y", true));
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(document.querySelector("#legend button:nth-child(${series}) .chip")).borderTopColor;
  probe.fillRect(0, 0, 1, 1);
  const wanted = probe.getImageData(0, 0, 1, 1).data, seen = u.ctx.getImageData(x - 6, y - 6, 13, 13).data;
  for (let p = 0; p < seen.length; p += 4)
    if ([0, 1, 2].every((c) => Math.abs(seen[p + c] - wanted[c]) < 24) && seen[p + 3] > 200) return true;
  return false;
})()`);

async function checkCurves(page, where) {
  for (const key of kFigures) {
    const counts = await page.value(
      `${plot(key)}.data.slice(1).map((values) => values.filter((v) => v != null).length)`,
    );
    expect(
      JSON.stringify(counts) === JSON.stringify(runs.map((_, k) => pointsInLog(k))),
      `${where}: points of ${key}: ${counts}`,
    );
    for (let k = 0; k < runs.length; ++k)
      expect(await isPainted(page, key, k + 1), `${where}: ${key} of run ${k} is on the canvas`);
  }
  // On one clock: refining begins where training ended.
  const last = runs[0].filter((record) => record.type === "epoch").at(-1).seconds;
  const begin = await page.value(
    `(() => { const u = ${plot("objective")}; return u.data[0][u.data[${refineIndex + 1}].findIndex((v) => v != null)]; })()`,
  );
  expect(Math.abs(begin - last) < 1e-9, `${where}: refining begins at ${last} s, not at ${begin} s`);
}

async function checkSolves(page, where) {
  const counts = await page.value(
    `[...document.querySelectorAll("[data-solve]")].map((e) => e.plot ? e.plot.data[0].length : 0)`,
  );
  const wanted = [];
  let inner = 0;
  for (const record of runs[refineIndex]) {
    if (record.type === "inner") ++inner;
    if (record.type === "update") {
      wanted.push(inner + 1);
      inner = 0;
    }
  }
  expect(
    JSON.stringify(counts) === JSON.stringify(wanted.map((n) => (n < 2 ? 0 : n))),
    `${where}: points of the layer updates: ${counts}, in the log ${wanted}`,
  );
}

async function checkHover(page, where) {
  const update = updates.at(-1);
  const place = await page.value(`(() => {
    const u = ${plot("objective")}; u.root.scrollIntoView({block: "center"});
    const values = u.data[${refineIndex + 1}], i = values.findLastIndex((v) => v != null), box = u.over.getBoundingClientRect();
    return {x: box.x + u.valToPos(u.data[0][i], "x") - 1, y: box.y + box.height / 2};
  })()`);
  await page.mouse(place.x, place.y);
  const tip = await page.value(`(() => { const t = ${plot("objective")}.tip, r = t.getBoundingClientRect();
    return {text: t.hidden ? "" : t.textContent, left: r.left, right: r.right}; })()`);
  expect(
    tip.text.includes(update.layer),
    `${where}: hovering names the layer ${update.layer}: "${tip.text}"`,
  );
  expect(
    tip.text.includes(update.objective.toFixed(4)),
    `${where}: hovering shows ${update.objective.toFixed(4)}: "${tip.text}"`,
  );
  expect(
    tip.text.includes((100 * update.val_accuracy).toFixed(2) + "%"),
    `${where}: hovering shows the validation accuracy`,
  );
  expect(
    tip.left >= 0 && tip.right <= (await page.value("innerWidth")),
    `${where}: the hover's box is on the page`,
  );
  await page.mouse(5, 5);
  expect(await page.value(`${plot("objective")}.tip.hidden`), `${where}: the hover ends`);
}

async function checkKeys(page, where) {
  await page.value(`document.querySelector('[data-figure="val_accuracy"]').focus()`);
  await page.key("ArrowRight");
  const first = await page.value(`${plot("val_accuracy")}.tip.textContent`);
  await page.key("ArrowRight");
  const second = await page.value(`${plot("val_accuracy")}.tip.textContent`);
  expect(
    first !== "" && second !== "" && first !== second,
    `${where}: arrow keys move: "${first}", "${second}"`,
  );
  await page.value("document.activeElement.blur()");
}

async function checkToggle(page, where) {
  const button = `#legend button:nth-child(${refineIndex + 1})`;
  await page.click(button);
  expect(
    (await page.value(`document.querySelector("${button}").getAttribute("aria-pressed")`)) === "false",
    `${where}: the button is released`,
  );
  for (const key of kFigures)
    expect(await isGone(page, key, refineIndex + 1), `${where}: ${key} is hidden`);
  await page.click(button);
  expect(await isPainted(page, "objective", refineIndex + 1), `${where}: the curve is back`);
}

// On a log scale too, which has no place for nothing.
async function checkNothingShown(page, where) {
  await page.click("#log-scale");
  for (const log of [true, false]) {
    for (let k = 0; k < 2 * runs.length; ++k) {
      await page.click(`#legend button:nth-child(${(k % runs.length) + 1})`);
      if (k === runs.length - 1)
        expect(
          (await page.value(`${plot("objective")}.series.slice(1).filter((s) => s.show).length`)) === 0,
          `${where}: every curve may be hidden`,
        );
    }
    if (log) await page.click("#log-scale");
  }
  expect(await isPainted(page, "objective", 1), `${where}: and shown again`);
}

async function checkTheme(page, theme, where) {
  const ground = () => page.value("getComputedStyle(document.body).backgroundColor");
  const isDark = (color) => Number(/\d+/.exec(color)[0]) < 128;
  expect(isDark(await ground()) === (theme === "dark"), `${where}: the system's theme is followed`);
  await page.click("#theme");
  expect(isDark(await ground()) !== (theme === "dark"), `${where}: the button changes the theme`);
  for (const key of kFigures)
    expect(await isPainted(page, key, 1), `${where}: ${key} is drawn in the other theme's colour`);
  await page.click("#theme");
}

// WCAG 2: text and what is behind it, 4.5 to 1.
async function checkContrast(page, where) {
  const poor = await page.value(`(() => {
    const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length > 3 ? n : [...n, 1]; };
    const over = (top, under) => [0, 1, 2].map((k) => top[k] * top[3] + under[k] * (1 - top[3]));
    const ground = (e) => { const own = parse(getComputedStyle(e).backgroundColor); return own[3] === 1 || !e.parentElement ? own.slice(0, 3) : over(own, ground(e.parentElement)); };
    const bad = new Set();
    for (const e of document.querySelectorAll("body *")) {
      if (e.closest("script, [hidden], .uplot") || !e.getClientRects().length || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
      const a = light(parse(getComputedStyle(e).color).slice(0, 3)), b = light(ground(e));
      if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) bad.add(e.tagName + "." + e.className + ": " + e.textContent.slice(0, 30));
    }
    return [...bad].slice(0, 5);
  })()`);
  expect(poor.length === 0, `${where}: every text has enough contrast: ${poor}`);
}

// A row for each rank of the logs, with bars in proportion to its times.
async function checkRanks(page, where) {
  const told = runs.flatMap(
    (records) => (records.filter((record) => record.type === "ranks").at(-1) || { ranks: [] }).ranks,
  );
  const shown = await page.value(`[...document.querySelectorAll("#ranks tbody tr")].map((row) => ({
    name: row.cells[0].textContent, waiting: row.cells[4].textContent,
    widths: [...row.querySelectorAll(".rank-bar i")].map((bar) => bar.getBoundingClientRect().width) }))`);
  expect(shown.length === told.length, `${where}: ${shown.length} rows for ${told.length} ranks`);
  expect(
    (await page.value(`document.getElementById("ranks").hidden`)) === (told.length === 0),
    `${where}: the ranks are shown if there are some`,
  );
  told.forEach((rank, k) => {
    const { name, waiting, widths } = shown[k];
    expect(name === rank.rank, `${where}: rank ${name}`);
    expect(parseFloat(waiting) === rank.waiting, `${where}: ${name} waits ${waiting}, not ${rank.waiting} s`);
    ["computing", "exchanging", "waiting"].forEach((part, p) =>
      expect(
        Math.abs(widths[p] - (widths[0] * rank[part]) / rank.computing) < 1,
        `${where}: ${name}, bar of ${part}: ${widths[p]} px`,
      ),
    );
  });
}

async function checkLayout(page, width, where) {
  expect(
    (await page.value("document.documentElement.scrollWidth")) <= width,
    `${where}: nothing is wider than the page`,
  );
  const nameless =
    await page.value(`[...document.querySelectorAll("button, input, img, [tabindex]")].filter((e) =>
    !(e.textContent.trim() || e.getAttribute("aria-label") || e.getAttribute("alt") || e.closest("label"))).length`);
  expect(nameless === 0, `${where}: every control and image has a name`);
  expect(
    await page.value(`[...document.images].every((image) => image.naturalWidth > 0)`),
    `${where}: every image can be shown`,
  );
  expect((await page.value(`document.images.length`)) > 0, `${where}: there are images`);
}

async function checkDownload(page, browser, where) {
  const folder = fs.mkdtempSync(path.join(browser.folder, "downloads-"));
  await browser.send("Browser.setDownloadBehavior", {
    behavior: "allow",
    downloadPath: folder,
    eventsEnabled: true,
  });
  const done = new Promise((resolve) =>
    browser.listeners.push(
      ({ method, params }) =>
        method === "Browser.downloadProgress" && params.state === "completed" && resolve(),
    ),
  );
  await page.click(`[data-csv="${refineIndex}"]`);
  await done;
  const [name] = fs.readdirSync(folder);
  expect(
    fs.readFileSync(path.join(folder, name), "utf8") === fs.readFileSync(path.join(csvFolder, name), "utf8"),
    `${where}: the button saves what --csv writes`,
  );
}

run(() =>
  inBrowser(chromium, async (page, browser) => {
    for (const [width, theme] of [
      [1280, "light"],
      [380, "dark"],
    ]) {
      const where = `${width} px, ${theme}`;
      await page.show(report, width, theme);
      await checkLayout(page, width, where);
      await checkCurves(page, where);
      await checkSolves(page, where);
      await checkRanks(page, where);
      await checkHover(page, where);
      await checkKeys(page, where);
      await checkToggle(page, where);
      await checkNothingShown(page, where);
      await checkTheme(page, theme, where);
      await checkContrast(page, where);
    }
    await checkDownload(page, browser, "CSV");
  }),
);
