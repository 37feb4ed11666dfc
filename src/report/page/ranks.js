// Where the time of several ranks went: for each a bar of what it spent computing, exchanging and waiting, all of a run on
// one scale, and the numbers.

const kRankParts = [
  { key: "computing", color: "var(--series-0)" },
  { key: "exchanging", color: "var(--series-1)" },
  { key: "waiting", color: "var(--line)" },
];

// The last record: a run that went on has one from each of its ends.
const ranksOf = (run) => {
  const ranks = (recordsOf(run, "ranks").at(-1) || {}).ranks;
  return Array.isArray(ranks) ? ranks.filter((rank) => rank && typeof rank === "object") : [];
};

function bytes(value) {
  if (!isNumber(value)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; value >= 1000 && unit + 1 < units.length; ++unit) value /= 1000;
  return `${short(value, 3)}\u00a0${units[unit]}`;
}

function rankBar(rank, longest) {
  const words = kRankParts.map(({ key }) => `${duration(rank[key])} ${key}`).join(", ");
  return element(
    "span",
    { class: "rank-bar", role: "img", "aria-label": words, title: words },
    ...kRankParts.map(({ key, color }) =>
      element("i", {
        style: `width: ${(100 * Math.max(0, number(rank[key]) ?? 0)) / longest}%; background: ${color}`,
      }),
    ),
  );
}

function ranksTable(run) {
  const ranks = ranksOf(run);
  const spent = (rank) => kRankParts.reduce((sum, { key }) => sum + Math.max(0, number(rank[key]) ?? 0), 0);
  const longest = Math.max(1e-9, ...ranks.map(spent));
  return element(
    "div",
    { class: "scroll" },
    table(
      ["rank", "", ...kRankParts.map(({ key }) => key), "sent"],
      ranks.map((rank) => [
        text(rank.rank ?? "–"),
        rankBar(rank, longest),
        ...kRankParts.map(({ key }) => duration(rank[key])),
        bytes(rank.bytes_sent),
      ]),
      (c) => c > 1,
      { class: "ranks" },
    ),
  );
}

function showRanks() {
  const together = runs.filter((run) => ranksOf(run).length > 0);
  byId("ranks").hidden = together.length === 0;
  if (together.length === 0) return;
  byId("ranks").append(
    element(
      "div",
      { class: "key" },
      ...kRankParts.map(({ key, color }) =>
        element("span", {}, element("span", { class: "chip", style: `border-color: ${color}` }), key),
      ),
    ),
    ...together.map((run) => folded(run, together.length > 1, ranksTable(run))),
  );
}

showRanks();
