// On the figures: a hairline for each layer update with the layer's name above, a shade over longer runs, the network
// that was kept, and the box with values at the pointer. `drawn` (curves.js) holds the curves.

const kMarkFont = "11px system-ui, sans-serif";
const kMarkDistance = 19; // pixels between the names of two layers

function cut(name, length = 12) {
  return name.length > length ? name.slice(0, length - 1) + "…" : name;
}

function drawShades(u) {
  const { ctx, bbox } = u;
  ctx.save();
  for (const { run, points, visible } of drawn) {
    if (!visible || run.shorter < 0) continue;
    const from = u.valToPos(points[0].t, "x", true),
      to = u.valToPos(points.at(-1).t, "x", true);
    ctx.fillStyle = cssColor("--shade");
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
  }
  ctx.restore();
}

function drawKept(u) {
  const { ctx } = u;
  ctx.save();
  for (const { run, points, visible } of drawn) {
    const point = points.find((candidate) => candidate.update && candidate.update === run.kept);
    if (!visible || !point || !isNumber(point[u.figure.key])) continue;
    ctx.fillStyle = colorOf(run);
    ctx.beginPath();
    ctx.arc(
      u.valToPos(point.t, "x", true),
      u.valToPos(point[u.figure.key], "y", true),
      5 * devicePixelRatio,
      0,
      2 * Math.PI,
    );
    ctx.fill();
  }
  ctx.restore();
}

function drawMarks(u) {
  const { ctx, bbox } = u,
    ratio = devicePixelRatio;
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
  const slack = (times.at(-1) - times[0]) / 40;
  return best !== null && at >= first - slack && at <= last + slack ? best : null;
}

function describe(curve, time) {
  const point = curve.points.find((candidate) => candidate.t === time);
  if (!point) return null;
  const { run } = curve,
    { update } = point;
  const what = update
    ? `pass ${update.pass ?? "?"}, ${update.layer ?? "?"}${update.accepted === false ? ", rejected" : ""}${update === run.kept ? ", kept" : ""}`
    : run.refine
      ? "start"
      : null;
  const values = kFigures
    .filter((figure) => isNumber(point[figure.key]))
    .map((figure) => `${figure.word} ${figure.format(point[figure.key])}`);
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
  const rows = drawn
    .map((curve, k) =>
      curve.visible && isNumber(indices[k + 1]) ? describe(curve, u.data[0][indices[k + 1]]) : null,
    )
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

// Arrow keys go from step to step.
function moveByKey(u, event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const times = u.data[0];
  u.keyIndex = Math.max(0, Math.min(times.length - 1, (u.keyIndex ?? (step > 0 ? -1 : times.length)) + step));
  u.hovered = true;
  u.setCursor({ left: u.valToPos(times[u.keyIndex], "x"), top: u.over.clientHeight / 2 });
}
