// Tables are sorted by their heads, matrices by what is confused most or by supercategory. Numbers are read as they are shown.
// What is missing comes last, in either direction, and rows about all others stay in front.
const NOTHING = "–";
const numberOf = (text) => {
  const plain = text.replace(/[,%<≤\s]/g, "").replace("−", "-");
  return plain === "" || isNaN(plain) ? null : Number(plain);
};
const order = (one, other, sign) => {
  const [first, second] = [numberOf(one), numberOf(other)];
  if (one === NOTHING || other === NOTHING) return (one === NOTHING) - (other === NOTHING);
  if (first !== null && second !== null) return sign * (first - second);
  return sign * one.localeCompare(other, "en", { numeric: true });
};
const sortTable = (head) => {
  const column = head.cellIndex, body = head.closest("table").tBodies[0];
  const isNumber = head.classList.contains("n"), now = head.getAttribute("aria-sort");
  const up = now === null ? !isNumber : now === "descending"; // numbers: the largest first
  for (const each of head.parentNode.cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const rows = [...body.rows].map((row) => ({ row, text: row.cells[column].textContent.trim(), mean: row.matches(".mean") }));
  rows.sort((one, other) => other.mean - one.mean || order(one.text, other.text, up ? 1 : -1));
  body.append(...rows.map((each) => each.row));
};
for (const head of all("table.sortable thead th:not(.drawn)")) {
  const button = make("button", "", () => sortTable(head));
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
}
const sortMatrix = (matrix, byGroup) => {
  const heads = [...matrix.tHead.rows[0].cells], n = heads.length - 2; // the last one is "missed"
  const places = heads.slice(1, n + 1).map((head, place) => ({ place, first: Number(head.dataset.place), group: head.dataset.group ?? "" }));
  places.sort((one, other) => (byGroup ? one.group.localeCompare(other.group, "en") : 0) || one.first - other.first);
  for (const row of all("tr", matrix)) {
    const cells = [...row.cells];
    row.append(...places.map(({ place }) => cells[place + 1]), cells[n + 1]);
  }
  const rows = [...matrix.tBodies[0].rows];
  matrix.tBodies[0].append(...places.map(({ place }) => rows[place]), rows[n]);
};
for (const matrix of all(".matrix")) {
  const heads = [...matrix.tHead.rows[0].cells].slice(1);
  heads.forEach((head, place) => (head.dataset.place = place));
  if (new Set(heads.map((head) => head.dataset.group)).size < 3) continue; // none, and one
  const label = make("label", "Sorted by "), select = label.appendChild(document.createElement("select"));
  select.append(make("option", "confusions"), make("option", "supercategory"));
  select.addEventListener("change", () => sortMatrix(matrix, select.selectedIndex === 1));
  matrix.parentNode.before(label);
}
