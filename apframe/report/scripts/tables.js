"use strict";
// Numbers are read as they are shown. What is missing comes last, in either direction.
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
  const rows = [...body.rows].map((row) => ({ row, text: row.cells[column].textContent.trim() }));
  rows.sort((one, other) => order(one.text, other.text, up ? 1 : -1));
  body.append(...rows.map((each) => each.row));
};
for (const head of all("table.sortable thead th:not(.drawn)")) {
  const button = make("button", "", () => sortTable(head));
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
}
