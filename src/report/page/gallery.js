// Confusion matrices, images and filters before and after refining.

const kMatrixClasses = 20; // of more, those that are most confused, and a list
const kWorstConfusions = 12;

// Heat in the background, as strong as the theme allows for the text on it.
function heat(color, share) {
  return share > 0
    ? `--share: ${Math.sqrt(Math.min(1, share)).toFixed(3)}; background: rgba(var(${color}), calc(0.06 + var(--strength) * var(--share)))`
    : null;
}

function matrixTable(gallery, caption, cellOf) {
  const names = gallery.classes;
  return element(
    "div",
    {},
    element("h3", {}, caption),
    element(
      "table",
      { class: "matrix" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("th", { scope: "col" }, "true ↓ said →"),
          ...names.map((name) =>
            element("th", { scope: "col", title: name }, element("span", {}, cut(name, 14))),
          ),
        ),
      ),
      element(
        "tbody",
        {},
        ...names.map((name, r) =>
          element(
            "tr",
            {},
            element("th", { scope: "row", title: name }, name),
            ...names.map((said, c) => {
              const { content, style } = cellOf(r, c);
              return element("td", { style, title: `${name}, said to be ${said}: ${content || 0}` }, content);
            }),
          ),
        ),
      ),
    ),
  );
}

function countCell(matrix) {
  const rowSums = matrix.map((row) => row.reduce((sum, value) => sum + value, 0));
  return (r, c) => ({
    content: matrix[r][c] ? String(matrix[r][c]) : "",
    style: heat(
      r === c ? "--good-heat" : "--bad-heat",
      (matrix[r][c] / Math.max(1, rowSums[r])) * (r === c ? 1 : 3),
    ),
  });
}

function changeCell(before, after) {
  const change = (r, c) => after[r][c] - before[r][c];
  const largest = Math.max(1, ...before.flatMap((row, r) => row.map((_, c) => Math.abs(change(r, c)))));
  return (r, c) => {
    const by = change(r, c),
      better = r === c ? by > 0 : by < 0;
    return {
      content: by ? signed(String(by)) : "",
      style: heat(better ? "--good-heat" : "--bad-heat", Math.abs(by) / largest),
    };
  };
}

function confusionList({ classes, confusion: { before, after } }) {
  const pairs = before
    .flatMap((row, r) => row.map((was, c) => ({ r, c, was, is: after[r][c] })))
    .filter(({ r, c }) => r !== c)
    .sort((a, b) => Math.max(b.was, b.is) - Math.max(a.was, a.is))
    .slice(0, kWorstConfusions);
  return element(
    "div",
    { class: "scroll" },
    table(
      ["true class", "said to be", "before", "after"],
      pairs.map(({ r, c, was, is }) => [classes[r], classes[c], count(was), count(is)]),
      (c) => c > 1,
    ),
  );
}

// The classes with most mistakes, before or after, in their own order, as a gallery of their own.
function mostConfused({ classes, confusion: { before, after } }) {
  const mistakes = (matrix, k) =>
    matrix.reduce((sum, row, r) => sum + (r === k ? 0 : row[k] + matrix[k][r]), 0);
  const shown = classes
    .map((_, k) => ({ k, worst: Math.max(mistakes(before, k), mistakes(after, k)) }))
    .sort((a, b) => b.worst - a.worst || a.k - b.k)
    .slice(0, kMatrixClasses)
    .map(({ k }) => k)
    .sort((a, b) => a - b);
  const part = (matrix) => shown.map((r) => shown.map((c) => matrix[r][c]));
  return {
    classes: shown.map((k) => classes[k]),
    confusion: { before: part(before), after: part(after) },
  };
}

function confusionPart(gallery) {
  if (gallery.classes.length > kMatrixClasses)
    return [
      element("h3", {}, "Most frequent confusions"),
      confusionList(gallery),
      element("h3", {}, `The ${kMatrixClasses} most confused of ${gallery.classes.length} classes`),
      ...confusionPart(mostConfused(gallery)),
    ];
  const { before, after } = gallery.confusion;
  return [
    element(
      "div",
      { class: "matrices" },
      matrixTable(gallery, "Before", countCell(before)),
      matrixTable(gallery, "After", countCell(after)),
      matrixTable(gallery, "Change", changeCell(before, after)),
    ),
  ];
}

function picture(entry, gallery) {
  const name = (label) => gallery.classes[label] ?? String(label);
  const margin = (answer) => signed(answer.margin.toFixed(2));
  const right = entry.after.label === entry.label;
  const said =
    entry.before.label === entry.after.label
      ? `said ${name(entry.after.label)}`
      : `${name(entry.before.label)} → ${name(entry.after.label)}`;
  return element(
    "li",
    {},
    element("img", {
      src: entry.image,
      alt: `image ${entry.index}: ${name(entry.label)}`,
      title: `${gallery.part} image ${entry.index}`,
    }),
    element(
      "div",
      {},
      element("b", {}, name(entry.label)),
      element("small", { class: right ? "good" : "bad" }, said),
      element("small", { class: "margin" }, `${margin(entry.before)} → ${margin(entry.after)}`),
    ),
  );
}

function pictures(title, entries, gallery) {
  if (entries.length === 0) return [];
  return [
    element("h3", {}, title),
    element("ul", { class: "pictures" }, ...entries.map((entry) => picture(entry, gallery))),
  ];
}

function filterPart(filters) {
  if (!filters) return [];
  const grid = (title, images) =>
    element(
      "div",
      {},
      element("p", { class: "hint" }, title),
      element(
        "div",
        { class: "filters" },
        ...images.map((image, k) => element("img", { src: image, alt: `filter ${k + 1} ${title}` })),
      ),
    );
  return [
    element("h3", {}, `Filters of the first layer, ${filters.layer} (${filters.shape.join(" × ")})`),
    element("div", { class: "pair" }, grid("before", filters.before), grid("after", filters.after)),
  ];
}

for (const gallery of report.galleries) {
  const section = byId("gallery");
  section.hidden = false;
  const append = (...children) =>
    section.append(folded(runs[gallery.run], report.galleries.length > 1, ...children));
  if (gallery.note) {
    append(element("p", { class: "note" }, `No pictures: ${gallery.note}`));
    continue;
  }
  append(
    element(
      "p",
      { class: "hint" },
      `Of ${count(gallery.samples)} ${gallery.part} images, ${count(gallery.newly_right)} became right and ${count(gallery.newly_wrong)} became wrong. ` +
        "Under each image: its true class, what the network said before and after, and its margin, the score of the true class minus the highest other score.",
    ),
    ...confusionPart(gallery),
    ...pictures("Most improved", gallery.improved, gallery),
    ...pictures("Most damaged", gallery.damaged, gallery),
    ...filterPart(gallery.filters),
  );
}
