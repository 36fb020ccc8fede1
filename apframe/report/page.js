"use strict";
// Sort the rows of a table by a column. Numbers are read as they are shown, and what is missing comes last.
const numberOf = (text) => {
  const plain = text.replace(/,/g, "").replace("−", "-");
  return plain === "" || isNaN(plain) ? null : Number(plain);
};
const sortBy = (head) => {
  const table = head.closest("table"), column = [...head.parentNode.children].indexOf(head);
  const down = head.getAttribute("aria-sort") !== "descending";
  for (const each of head.parentNode.children) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const sign = down ? -1 : 1, body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => {
    const text = row.cells[column].textContent;
    return { row, text, number: numberOf(text) };
  });
  keyed.sort((one, other) => {
    if (one.text === "–" || other.text === "–") return (one.text === "–") - (other.text === "–");
    if (one.number !== null && other.number !== null) return sign * (one.number - other.number);
    return -sign * one.text.localeCompare(other.text, "en", { numeric: true });
  });
  body.append(...keyed.map((each) => each.row));
};
for (const head of document.querySelectorAll("table.sortable thead th")) {
  if (head.classList.contains("drawn")) continue;
  const button = document.createElement("button");
  button.append(...head.childNodes);
  button.addEventListener("click", () => sortBy(head));
  head.append(button);
}
for (const when of ["beforeprint"]) {
  addEventListener(when, () => document.querySelectorAll("details").forEach((each) => (each.open = true)));
}
