"use strict";
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
