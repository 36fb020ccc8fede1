"use strict";
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
