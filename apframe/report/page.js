"use strict";
// The page can be read without this script, which sorts tables, filters cards and opens them one at a time.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (name, text, click) => {
  const made = document.createElement(name);
  made.textContent = text;
  if (click) made.addEventListener("click", click);
  return made;
};

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

// A gallery: a form whose selects are named after the data of its cards, one of them "sort", and the cards.
for (const gallery of all(".gallery")) {
  const form = gallery.querySelector("form"), cards = all(".card", gallery), count = gallery.querySelector("output");
  const place = new Map(cards.map((card, number) => [card, number]));
  const apply = () => {
    const wanted = all("select", form).filter((each) => each.name !== "sort" && each.selectedIndex > 0); // the first: all
    const values = (card, name) => /^(slice|model)/.test(name) ? JSON.parse(card.dataset[name]) : [card.dataset[name]];
    for (const card of cards) {  // a card may be of both models, and in several slices
      card.hidden = wanted.some((each) => !values(card, each.name).includes(each.value));
    }
    if (count) count.textContent = `${cards.filter((card) => !card.hidden).length} of ${cards.length} shown`;
  };
  const sort = () => {
    const [by, direction] = form.elements.sort.value.split(" ");
    const sign = direction === "up" ? 1 : -1;
    const sorted = [...cards].sort((one, other) =>
      by === "" ? place.get(one) - place.get(other) : order(one.dataset[by] || NOTHING, other.dataset[by] || NOTHING, sign));
    gallery.querySelector(".cards").append(...sorted);
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => (apply(), sort())));
  form.addEventListener("change", (event) => (event.target.name === "sort" ? sort() : apply()));
  apply();
  for (const card of cards) {
    card.addEventListener("click", (event) => event.target.closest("a, code, button, summary") || show(card));
    card.addEventListener("keydown", (event) => {
      if (event.target === card && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        show(card);
      }
    });
  }
}

// One card, large, with its neighbours at hand: arrow keys go through those that the filters leave.
const dialog = document.body.appendChild(document.createElement("dialog"));
const bar = dialog.appendChild(document.createElement("div"));
const shown = dialog.appendChild(document.createElement("div"));
let current = null;
const show = (card) => {
  current = card;
  const copy = card.cloneNode(true);
  copy.removeAttribute("tabindex");
  for (const each of all("details", copy)) each.open = true;
  for (const each of [copy, ...all("[id]", copy)]) each.removeAttribute("id");
  shown.replaceChildren(copy);
  if (!dialog.open) dialog.showModal();
};
const step = (by) => {
  const left = all(".card", current.closest(".gallery")).filter((card) => !card.hidden);
  show(left[(left.indexOf(current) + by + left.length) % left.length]);
};
const copyText = async (selector, button) => {
  const found = all(selector, shown).map((each) => each.textContent).join("\n"), name = button.textContent;
  try {
    await navigator.clipboard.writeText(found);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(shown.querySelector(selector)); // for Ctrl-C
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = name), 1500);
};
dialog.setAttribute("aria-label", "One error");
bar.className = "bar";
bar.append(
  make("button", "← Previous", () => step(-1)),
  make("button", "Next →", () => step(1)),
  make("button", "Copy ids", (event) => copyText(".ids", event.target)),
  make("button", "Copy SQL", (event) => copyText(".sql", event.target)),
  make("button", "Close", () => dialog.close()),
);
dialog.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (by) step(by);
});
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
dialog.addEventListener("close", () => current && current.focus());

// On paper everything is open, and every picture is there.
addEventListener("beforeprint", () => {
  for (const each of all("details:not(.card *)")) each.open = true;
  for (const each of all("img")) each.loading = "eager";
});
