const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
for (const control of document.querySelectorAll("[data-needs-script]")) control.hidden = false;

// Elements are made, never parsed, so that a name is text whatever it holds.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child != null) element.append(child);
  }
  return element;
}
const named = (text) => make("bdi", {}, text);
const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
function shown(value, measure) {
  if (value == null) return "–";
  return typeof value === "string" ? value : value.toFixed(measure.digits).replace("-", "−");
}

// Light or dark: as the system is, until somebody chooses.
const theme = find("theme");
const system = window.matchMedia("(prefers-color-scheme: dark)");
let stored = null;
try { stored = localStorage.getItem("podium-theme"); } catch { /* a file may not be allowed to remember */ }
if (stored === "dark" || stored === "light") document.documentElement.dataset.theme = stored;
const isDark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
const showTheme = () => theme.setAttribute("aria-pressed", String(isDark()));
theme.hidden = false;
theme.addEventListener("click", () => {
  const chosen = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = chosen;
  try { localStorage.setItem("podium-theme", chosen); } catch { /* then it is forgotten */ }
  showTheme();
});
system.addEventListener("change", showTheme);
showTheme();

// Tables that sort. What has no value comes last, whichever way.
const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
function keyOf(row, column, kind) {
  const cell = row.cells[column];
  if (kind === "text") return (cell.querySelector("bdi") || cell).textContent.trim();
  const key = cell.dataset.key ?? cell.textContent.trim();
  if (key === "" || key === "–") return null;
  return key === "inf" || key === "∞" ? Infinity : key === "-inf" || key === "−∞" ? -Infinity : Number(key);
}
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = head.querySelector(".sort");
    if (!button) return;
    button.addEventListener("click", () => {
      const first = head.dataset.first || "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const way = head.getAttribute("aria-sort") === first ? other : first;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", way);
      const kind = head.dataset.sort;
      const body = table.tBodies[0];
      for (const open of body.querySelectorAll(".why[aria-expanded=true]")) open.click();
      const rows = [...body.rows].map((row, index) => ({ row, index, key: keyOf(row, column, kind) }));
      rows.sort((a, b) => {
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.index - b.index;
        const less = kind === "text" ? order.compare(a.key, b.key) : a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
        return (way === "ascending" ? less : -less) || a.index - b.index;
      });
      body.append(...rows.map((entry) => entry.row));
    });
  });
}
const board = find("board");
sortable(board);
// A table that is laid out as cards is still a table for those who hear it.
const roles = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };
for (const part of [board, ...board.querySelectorAll("thead, tbody, tr, td, th")]) {
  part.setAttribute("role", roles[part.tagName] || (part.scope === "col" ? "columnheader" : "rowheader"));
}

// Which submissions and columns are shown.
const filter = find("filter"), which = find("which");
const rowsOfBoard = [...board.tBodies[0].rows];
function showRows() {
  const wanted = filter.value.trim().toLowerCase();
  let count = 0;
  for (const row of rowsOfBoard) {
    const submission = data.submissions[row.dataset.row];
    const fits = submission.name.toLowerCase().includes(wanted) &&
      (which.value === "all" || (which.value === "ranked" ? submission.place != null : Number(row.dataset.failed) > 0));
    row.hidden = !fits;
    if (!fits && row.querySelector(".why").getAttribute("aria-expanded") === "true") row.querySelector(".why").click();
    count += fits;
  }
  find("shown").textContent = `${count} of ${counted(rowsOfBoard.length, "submission")} shown`;
  const out = new Set(rowsOfBoard.filter((row) => row.hidden).map((row) => row.dataset.row));
  for (const part of document.querySelectorAll(".plot [data-team]")) part.classList.toggle("out", out.has(part.dataset.team));
}
filter.addEventListener("input", showRows);
which.addEventListener("change", showRows);
const columns = find("columns");
if (columns) columns.addEventListener("click", () => {
  const all = columns.getAttribute("aria-pressed") !== "true";
  columns.setAttribute("aria-pressed", String(all));
  board.classList.toggle("compact", !all);
  fit();
});

// At first only columns that fit are shown; of all columns those that do not are counted, and a press brings them.
const further = find("further"), region = board.parentElement;
const phone = window.matchMedia("(max-width: 40rem)"), wanting = columns?.classList.contains("narrow");
function fit() {
  const compact = board.classList.contains("compact"), heads = [...board.tHead.rows[0].cells];
  const beside = heads.flatMap((head, index) => head.matches(".beside") ? [index] : []);
  for (const cell of board.querySelectorAll(".over")) cell.classList.remove("over");
  while (compact && !phone.matches && beside.length && region.scrollWidth > region.clientWidth) {
    const last = beside.pop();
    for (const row of board.rows) row.cells[last]?.classList.add("over");
  }
  if (wanting) columns.classList.toggle("narrow", compact && !board.querySelector(".over"));
  showFurther();
}
function showFurther() {
  const edge = region.getBoundingClientRect().right + 1;
  const hidden = [...board.tHead.rows[0].cells].filter((head) => head.getBoundingClientRect().right > edge).length;
  further.hidden = !hidden || region.scrollWidth <= region.clientWidth;
  if (hidden) further.textContent = `${counted(hidden, "more column")} →`;
}
further.addEventListener("click", () => region.scrollBy({ left: region.clientWidth / 2 }));
region.addEventListener("scroll", showFurther, { passive: true });
new ResizeObserver(fit).observe(region);

// On a phone, cards have no headings to press: a list sorts them, and is shown when asked for.
const tools = find("tools"), sorting = find("sorting");
tools.addEventListener("click", () => tools.setAttribute("aria-expanded", String(find("filters").classList.toggle("open"))));
[...board.tHead.rows[0].cells].forEach((head, column) =>
  sorting.append(make("option", { value: column }, head.querySelector("bdi, button").textContent.trim())));
sorting.addEventListener("change", () => board.tHead.rows[0].cells[sorting.value].querySelector(".sort").click());

// Submissions that somebody chose, by a mark of the board or in any figure, are highlighted everywhere.
const chosen = new Set();
function band(label) {
  const box = label.getBBox(), svg = label.ownerSVGElement;
  if (!box.width) return;
  const rect = document.createElementNS(svg.namespaceURI, "rect");
  for (const [name, value] of Object.entries({ class: "band", x: 0, y: box.y - 1, width: svg.viewBox.baseVal.width, height: box.height + 2 })) {
    rect.setAttribute(name, value);
  }
  svg.append(rect);
}
// What lies in the rows of others steps back too, whatever it is.
function veil(svg) {
  const rows = [...svg.querySelectorAll(".row")].map((label) => [label, label.getBBox()]).filter(([, box]) => box.width);
  const middles = rows.map(([, box]) => box.y + box.height / 2).sort((a, b) => a - b);
  const high = Math.min(...middles.slice(1).map((middle, index) => middle - middles[index]).filter((gap) => gap > 1));
  if (!rows.some(([label]) => label.classList.contains("chosen")) || !Number.isFinite(high)) return;
  for (const [label, box] of rows) {
    if (label.classList.contains("chosen")) continue;
    const rect = document.createElementNS(svg.namespaceURI, "rect"), left = box.x + box.width;
    const place = { class: "veil", x: left, y: box.y + (box.height - high) / 2, width: svg.viewBox.baseVal.width, height: high };
    for (const [name, value] of Object.entries(place)) rect.setAttribute(name, value);
    svg.append(rect);
  }
}
function showChosen() {
  for (const old of document.querySelectorAll(".plot .band, .plot .veil")) old.remove();
  for (const part of document.querySelectorAll("[data-team]")) part.classList.toggle("chosen", chosen.has(part.dataset.team));
  for (const svg of document.querySelectorAll(".plot > svg")) svg.classList.toggle("choosing", chosen.size > 0);
  for (const svg of document.querySelectorAll(".plot > svg.choosing")) veil(svg);
  for (const label of document.querySelectorAll(".plot .row.chosen")) band(label);
  markChosen();
  for (const button of document.querySelectorAll(".choose")) button.setAttribute("aria-pressed", String(chosen.has(button.dataset.choose)));
}
function choose(team) {
  if (!chosen.delete(team)) chosen.add(team);
  showChosen();
}
document.addEventListener("click", (event) => {
  const button = event.target.closest(".choose"), part = event.target.closest(".plot [data-team]");
  if (button) choose(button.dataset.choose);
  else if (part) choose(part.dataset.team);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && chosen.size) { chosen.clear(); showChosen(); }
});

// Why a submission has its place.
function reasons(submission) {
  const why = submission.why;
  const parts = make("table", {},
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, data.criterion), make("th", { scope: "col", class: "n" }, "Value"),
      make("th", { scope: "col", class: "n" }, "Rank"))),
    make("tbody", {}, why.parts.map(([title, value, rank]) => make("tr", {}, make("th", { scope: "row" }, title),
      make("td", { class: "n" }, value), make("td", { class: "n" }, rank)))));
  const whole = submission.name.length > 60 ? make("p", {}, named(submission.name)) : null;
  return [whole, make("p", {}, make("b", {}, why.summary)), why.parts.length ? make("p", {}, `${why.heading}:`) : null,
    why.parts.length ? parts : null, ...why.remarks.map((line) => make("p", {}, line))];
}
for (const button of board.querySelectorAll(".why")) {
  button.addEventListener("click", () => {
    const row = button.closest("tr"), index = row.dataset.row;
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) { find(`reason-${index}`).remove(); button.removeAttribute("aria-controls"); return; }
    row.after(make("tr", { class: "reason", id: `reason-${index}` },
      make("td", { colspan: board.tHead.rows[0].cells.length }, make("div", { class: "inner" }, reasons(data.submissions[index])))));
    button.setAttribute("aria-controls", `reason-${index}`);
  });
}

// Figures of one kind share a place: one is shown, the others are a press away.
const turning = [];
for (const group of document.querySelectorAll("[data-tabs]")) {
  const panels = [...group.querySelectorAll("[data-tab]")];
  const list = make("div", { class: "tabs", role: "group", "aria-label": group.dataset.tabs });
  const buttons = panels.map((panel) => {
    const button = make("button", { class: "button", type: "button" }, panel.dataset.tab);
    button.addEventListener("click", () => { turn(panel); follow(criteriaOf(panel)); });
    list.append(button);
    return button;
  });
  const turn = (wanted) => {
    panels.forEach((panel, index) => {
      panel.hidden = panel !== wanted;
      buttons[index].setAttribute("aria-pressed", String(panel === wanted));
    });
    if (chosen.size) showChosen();
  };
  group.prepend(list);
  turn(panels[0]);
  turning.push({ panels, turn });
}

// Sections that are made when they are opened.
const failedOf = data.submissions.map((submission) => {
  const pairs = new Map();
  for (let k = 0; k < submission.failed.length; k += 2) pairs.set(submission.failed[k], data.reasons[submission.failed[k + 1]]);
  return pairs;
});
function table(label, heads, rows) {
  const made = make("table", {}, make("thead", {}, make("tr", {}, heads.map(([title, kind, first]) =>
    make("th", { scope: "col", class: kind === "number" ? "n" : null, "data-sort": kind, "data-first": first },
      make("button", { class: "sort", type: "button" }, title))))), make("tbody", {}, rows));
  sortable(made);
  return make("div", { class: "scroll", role: "region", "aria-label": label, tabindex: 0 }, made);
}
// The number of a submission in a case; where there are many, each row of them is a text with so many signs for each.
function wholeOf(measure, submission, row) {
  const own = data.values[measure][submission];
  if (typeof own !== "string") return own[row];
  const { low, width } = data.measures[measure];
  let code = 0;
  for (let at = row * width; at < (row + 1) * width; at++) code = 64 * code + own.charCodeAt(at) - 63;
  return code < 3 ? [null, "∞", "−∞"][code] : code - 3 + low;
}
function numberOf(measure, submission, row) {
  const whole = wholeOf(measure, submission, row);
  return typeof whole === "number" ? whole / 10 ** data.measures[measure].digits : whole;
}
const measureHeads = data.measures.map((measure) => [measure.label, "number", measure.sign > 0 ? "descending" : "ascending"]);
const pricedOf = data.priced.map((submissions) => submissions.map((rows) => new Set(rows)));
function valueCells(submission, row) {
  return data.measures.map((measure, index) => {
    const value = numberOf(index, submission, row);
    const lost = pricedOf[index][submission].has(row);
    return make("td", { class: lost ? "n bad" : "n", title: lost ? failedOf[submission].get(row) : null, "data-key": value == null ? "" : value },
      shown(value, measure));
  });
}
function spread(submission) {
  const shares = submission.shares, most = Math.max(...shares);
  const bars = shares.map((share, place) => make("span", { class: place + 1 === submission.place ? "own" : null,
    style: `--h:${100 * share / most}%`, title: `place ${place + 1}: ${(100 * share).toFixed(1)} %` }));
  const likely = shares.map((share, place) => [share, place + 1]).filter(([share]) => share >= 0.005).sort((a, b) => b[0] - a[0])
    .slice(0, 6).map(([share, place]) => `place ${place} in ${(100 * share).toFixed(0)} %`).join(", ");
  return [make("h3", {}, "Places in resamples"), make("div", { class: "spread", "aria-hidden": "true" }, bars),
    make("p", { class: "small" }, `From place 1 to ${shares.length}: ${likely}.`)];
}
function failureRows(lines) {
  return lines.map(([name, status, reason]) => make("tr", {}, make("th", { scope: "row" }, name ? named(name) : "in general"),
    make("td", {}, status), make("td", {}, reason)));
}
function fillSubmission(body, index) {
  const submission = data.submissions[index];
  body.append(make("div", { class: "prose" }, reasons(submission)));
  if (submission.shares && submission.shares.length > 1) body.append(...spread(submission));
  if (submission.pictures.length) body.append(make("p", {}, "In pictures: ", submission.pictures.map(([number, label], k) =>
    [k ? ", " : "", make("a", { href: `#picture-${number}` }, label)])));
  else if (data.submissions.some((other) => other.pictures.length))
    body.append(make("p", { class: "small" }, "None of its cases is among the pictures of this page: podium report --submission shows them."));
  if (submission.failures.length) {
    body.append(make("h3", {}, "What went wrong"), make("div", { class: "scroll", role: "region", "aria-label": "What went wrong", tabindex: 0 },
      make("table", {}, make("thead", {}, make("tr", {}, ["Case", "What", "Why"].map((title) => make("th", { scope: "col" }, title)))),
        make("tbody", {}, failureRows(submission.failures)))));
  }
  if (!data.seen[index] || !data.cases.length) return;
  const rows = data.cases.map((name, row) => make("tr", {}, make("th", { scope: "row" },
    find("cases") ? make("a", { href: `#case-${row}` }, named(name)) : named(name), failedOf[index].has(row) ? make("span", { class: "tag" }, ` ${data.failed}`) : null),
    valueCells(index, row)));
  body.append(make("h3", {}, "Case by case"), table("Case by case", [["Case", "text"], ...measureHeads], rows));
}
function fillCase(body, row) {
  const rows = data.submissions.map((submission, index) => make("tr", { "data-team": index, class: chosen.has(String(index)) ? "chosen" : null },
    make("td", { class: "n", "data-key": submission.place ?? "" }, String(submission.place ?? "–")),
    make("th", { scope: "row" }, make("a", { href: `#submission-${index}` }, named(submission.name)),
      failedOf[index].has(row) ? make("span", { class: "tag" }, ` ${data.failed}`) : null), valueCells(index, row)));
  body.append(table(`All submissions on ${data.cases[row]}`, [["Place", "number"], ["Submission", "text"], ...measureHeads], rows));
  const lost = data.submissions.filter((_, index) => failedOf[index].has(row));
  if (lost.length) body.append(make("ul", { class: "sure" }, lost.map((submission) => make("li", {}, named(submission.name), ": ",
    failedOf[data.submissions.indexOf(submission)].get(row)))));
}
function fill(details) {
  const body = details.querySelector(".body");
  if (body.childElementCount) return;
  if (details.dataset.submission !== undefined) fillSubmission(body, Number(details.dataset.submission));
  else fillCase(body, Number(details.dataset.case));
}
for (const details of document.querySelectorAll("[data-submission], [data-case]")) {
  if (details.open) fill(details);
  details.addEventListener("toggle", () => { if (details.open) fill(details); });
}
for (const button of document.querySelectorAll("[data-all-failures]")) {
  button.addEventListener("click", () => {
    const index = button.dataset.allFailures;
    document.querySelector(`[data-failures="${index}"]`).tBodies[0].replaceChildren(...failureRows(data.submissions[index].failures));
    button.parentElement.remove();
  });
}

// A link to a section opens it.
function arrive() {
  const target = location.hash.length > 1 ? find(decodeURIComponent(location.hash.slice(1))) : null;
  if (!target) return;
  for (let outer = target; outer; outer = outer.parentElement) if (outer.tagName === "DETAILS") outer.open = true;
  if (target.tagName === "DETAILS") fill(target);
  target.hidden = false;
  target.scrollIntoView();
  const focus = target.querySelector("summary");
  if (focus) focus.focus({ preventScroll: true });
}
window.addEventListener("hashchange", arrive);
arrive();

const caseFilter = find("case-filter"), caseList = caseFilter ? [...find("case-list").children] : [];
if (caseFilter) caseFilter.addEventListener("input", () => {
  const wanted = caseFilter.value.trim().toLowerCase();
  let count = 0;
  caseList.forEach((details, row) => {
    details.hidden = !data.cases[row].toLowerCase().includes(wanted);
    count += !details.hidden;
  });
  find("cases-shown").textContent = `${count} of ${counted(caseList.length, "case")} shown`;
});

// Where one is in the page.
const links = new Map([...document.querySelectorAll("nav.contents a")].map((link) => [link.hash.slice(1), link]));
const inSight = new Set();
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) entry.isIntersecting ? inSight.add(entry.target.id) : inSight.delete(entry.target.id);
  const first = [...links.keys()].find((id) => inSight.has(id));
  if (first) for (const [id, link] of links) id === first ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
}, { rootMargin: "-10% 0px -80% 0px" });
for (const id of links.keys()) if (find(id)) watcher.observe(find(id));
