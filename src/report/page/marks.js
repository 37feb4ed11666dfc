// On the figures: a hairline for each layer update with the layer's name above, a shade over longer runs, the network
// that was kept, and the box with values at the pointer. `drawn` (curves.js) holds the curves.

const kMarkFont = "11px system-ui, sans-serif";
const kMarkDistance = 19; // pixels between the names of two layers
const kMaxNamedRuns = 2; // hairlines of more could not be told apart
const kMaxFullRows = 4; // of the box at the pointer

const familyOf = (run) => families.find((family) => family.root === run.family).brief;

function cut(name, length = 12) {
  return name.length > length ? name.slice(0, length - 1) + "…" : name;
}

function drawShades(u) {
  const { ctx, bbox } = u;
  const longer = drawn.filter(({ run, visible }) => visible && run.shorter >= 0);
  if (longer.length > 1) return; // shade upon shade would say nothing
  ctx.save();
  for (const { points } of longer) {
    const from = u.valToPos(points[0].t, "x", true),
      to = u.valToPos(points.at(-1).t, "x", true);
    ctx.fillStyle = cssColor("--shade");
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
  }
  ctx.restore();
}

// Below the point, where no curve comes from; where that is taken, further below, above or beside. `taken` gathers what is.
function writeName(u, name, x, y, taken) {
  const { ctx, bbox } = u,
    ratio = devicePixelRatio,
    line = 13 * ratio,
    space = 9 * ratio,
    half = ctx.measureText(name).width / 2;
  const within = Math.min(x, bbox.left + bbox.width - half);
  const places = [
    { x: within, y: y + space },
    { x: within, y: y + space + line },
    { x: within, y: y - space - line },
    { x: within, y: y - space - 2 * line },
    { x: x + half + space, y: y - line / 2 },
  ];
  const isFree = (place) =>
    place.x + half <= bbox.left + bbox.width &&
    place.y + line < bbox.top + bbox.height &&
    taken.every(
      (other) => Math.abs(other.x - place.x) > other.half + half || Math.abs(other.y - place.y) > line,
    );
  const place = places.find(isFree) ?? places[0];
  taken.push({ ...place, half });
  ctx.fillText(name, place.x, place.y);
}

// The networks that were kept; where several solvers are to be seen, with the name of each where LW-SVM has taken it.
function drawKept(u) {
  const { ctx } = u,
    ratio = devicePixelRatio,
    names = [];
  const several = new Set(drawn.filter((curve) => curve.visible).map(({ run }) => run.family)).size > 1;
  ctx.save();
  ctx.font = kMarkFont.replace("11px", `${11 * ratio}px`);
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (const { run, points, visible } of drawn) {
    const point = points.find((candidate) => candidate.update && candidate.update === run.kept);
    if (!visible || !point || !isNumber(point[u.figure.key])) continue;
    const x = u.valToPos(point.t, "x", true),
      y = u.valToPos(point[u.figure.key], "y", true);
    ctx.fillStyle = colorOf(run);
    ctx.beginPath();
    ctx.arc(x, y, 5 * ratio, 0, 2 * Math.PI);
    ctx.fill();
    if (several && run.role === "refine" && u.figure.key === "objective")
      writeName(u, cut(familyOf(run), 18), x, y, names);
  }
  ctx.restore();
}

function drawMarks(u) {
  const { ctx, bbox } = u,
    ratio = devicePixelRatio;
  if (drawn.filter(({ run, visible }) => visible && run.refine).length > kMaxNamedRuns) return;
  const marks = drawn
    .filter((curve) => curve.visible)
    .flatMap(({ run, points }) =>
      points
        .filter((point) => point.update)
        .map((point) => ({ run, update: point.update, x: u.valToPos(point.t, "x", true) })),
    )
    .filter((mark) => mark.x >= bbox.left - 1 && mark.x <= bbox.left + bbox.width + 1)
    .sort((a, b) => a.x - b.x);
  ctx.save();
  ctx.font = kMarkFont.replace("11px", `${11 * ratio}px`);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  let last = -Infinity;
  for (const { run, update, x } of marks) {
    const rejected = update.accepted === false;
    ctx.strokeStyle = ctx.fillStyle = rejected ? cssColor("--muted") : colorOf(run);
    ctx.globalAlpha = 0.35;
    ctx.lineWidth = ratio;
    ctx.setLineDash(rejected ? [2 * ratio, 4 * ratio] : []);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.globalAlpha = 1;
    if (x - last < kMarkDistance * ratio) continue; // its name is in the hover
    last = x;
    ctx.save();
    ctx.translate(x, bbox.top - 6 * ratio);
    ctx.rotate(-Math.PI / 4);
    ctx.fillText(cut(String(update.layer ?? "?")) + (rejected ? " ×" : ""), 0, 0);
    ctx.restore();
  }
  ctx.restore();
}

// --- hover: the values of every run at that time, in one box

// The point of a series that is nearest in time, if the run was under way then.
function nearestIndex(u, series, hovered) {
  if (series === 0) return hovered;
  const values = u.data[series],
    times = u.data[0],
    at = u.posToVal(u.cursor.left, "x");
  let best = null;
  let first = Infinity,
    last = -Infinity;
  for (let i = 0; i < times.length; ++i) {
    if (values[i] === null || values[i] === undefined) continue;
    first = Math.min(first, times[i]);
    last = Math.max(last, times[i]);
    if (best === null || Math.abs(times[i] - at) < Math.abs(times[best] - at)) best = i;
  }
  const slack = timeShown() / 40;
  return best !== null && at >= first - slack && at <= last + slack ? best : null;
}

function describe(curve, time, figure) {
  const point = curve.points.find((candidate) => candidate.t === time);
  if (!point) return null;
  const { run } = curve,
    { update } = point;
  const what = update
    ? `pass ${update.pass ?? "?"}, ${update.layer ?? "?"}${update.accepted === false ? ", rejected" : ""}${update === run.kept ? ", kept" : ""}`
    : run.refine
      ? "start"
      : null;
  if (figure)
    return element(
      "div",
      { class: "short row" },
      element("span", {}, chip(run), run.label),
      element("span", { class: "values" }, figure.format(point[figure.key])),
    );
  const values = kFigures
    .filter((shown) => isNumber(point[shown.key]))
    .map((shown) => `${shown.word} ${shown.format(point[shown.key])}`);
  return element(
    "div",
    { class: "row" },
    chip(run),
    element("b", {}, run.label),
    `${what ? ` · ${what}` : ""} · ${duration(time)}`,
    element("div", { class: "values" }, values.join(" · ")),
  );
}

function showTip(u) {
  const { tip } = u;
  const indices = u.cursor.idxs || [];
  const under = drawn
    .map((curve, k) => ({ curve, index: curve.visible ? indices[k + 1] : null }))
    .filter(({ index }) => isNumber(index));
  const figure = under.length > kMaxFullRows ? u.figure : null; // of many, only what this figure shows
  const rows = under
    .map(({ curve, index }) => describe(curve, u.data[0][index], figure))
    .filter(Boolean);
  tip.hidden = !u.hovered || u.cursor.left < 0 || rows.length === 0;
  if (tip.hidden) return;
  tip.replaceChildren(...rows);
  const place = u.over.offsetLeft + u.cursor.left,
    width = tip.offsetWidth,
    room = u.root.parentElement.clientWidth;
  const left = place + 16 + width <= room ? place + 16 : place - 16 - width;
  tip.style.left = `${Math.max(0, Math.min(left, room - width))}px`;
  tip.style.top = `${room < 600 ? u.height - 4 : markBand + 8}px`; // on a phone it would hide the curves
}

// Arrow keys go from step to step of the runs that are shown.
function moveByKey(u, event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const times = u.data[0].filter((_, i) =>
    drawn.some(({ visible }, k) => visible && isNumber(u.data[k + 1][i])),
  );
  if (times.length === 0) return;
  const next =
    step > 0 ? times.find((time) => time > (u.keyTime ?? -1)) : times.findLast((time) => time < (u.keyTime ?? Infinity));
  u.keyTime = next ?? u.keyTime ?? times[0];
  u.hovered = true;
  u.setCursor({ left: u.valToPos(u.keyTime, "x"), top: u.over.clientHeight / 2 });
}
