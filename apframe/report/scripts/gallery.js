// A form that filters rows of tables, and in a gallery cards. The address of the page holds what is selected, so that links all
// over the page make a selection, and the back button returns to the one before.
const MOST_SHOWN = 24; // cards at once; half of that in other galleries than the main one
const LISTS = ["model", "cells"]; // of which a card has several, as of slices
const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
const fits = (own, value) => (Array.isArray(own) ? own.includes(value) : own === value);
const sqlNumber = (number) => (isFinite(number) ? String(number) : `'${number}'::DOUBLE`);

class Filter {
  constructor(box) {
    const form = box.querySelector("form"), rows = box.dataset.rows ? all(box.dataset.rows) : [], wanted = new URLSearchParams();
    Object.assign(this, { box, form, rows, wanted, section: box.closest("section").id, columns: JSON.parse(box.dataset.values) });
    for (const each of [this.form, box.querySelector(".selected")]) each.hidden = false;
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("reset", () => go(this, new URLSearchParams()));
    this.form.addEventListener("change", (event) => (event.target.name === "sort" ? this.sort() : this.choose(event.target)));
  }
  choose(select) { // one of the form
    const wanted = new URLSearchParams(this.wanted);
    wanted.delete(select.name);
    if (select.selectedIndex > 0) wanted.append(select.name, select.value);
    go(this, wanted);
  }
  select(wanted) {
    this.wanted = wanted;
    for (const each of all("select:not([name=sort])", this.form)) // the first option is "all"
      each.selectedIndex = Math.max([...each.options].map((option) => option.value).indexOf(wanted.get(each.name), 1), 0);
    this.show();
  }
  // Columns have their names and values, and rows the numbers of their values, by column; those of images for each error.
  show() {
    const codes = this.columns.map(([name, values]) => this.wanted.has(name) && String(values.indexOf(this.wanted.get(name))));
    const isAsked = (one) => codes.every((code, at) => !code || one.split(".")[at]?.split(",").includes(code));
    for (const row of this.rows) row.hidden = !row.dataset.has.split(" ").some(isAsked);
    const what = [...this.wanted].map(([name, value]) => `${name}: ${value}`).join(", ");
    this.box.querySelector("output").textContent = what || this.box.dataset.all;
  }
}

class Gallery extends Filter {
  constructor(box) {
    super(box);
    this.slices = new Map(Object.entries(JSON.parse(box.dataset.slices)));
    this.cards = all(".card", box).map((card, place) => {
      const data = { ...card.dataset, element: card, place };
      for (const name of [...LISTS, ...this.slices.values()]) if (name in data) data[name] = JSON.parse(data[name]);
      data.score = data.score ? Number(data.score) : null;
      return data;
    });
    this.hasErrors = this.cards.some((card) => "error" in card); // those of labels have none
    this.most = this.step = this.section === "gallery" ? MOST_SHOWN : MOST_SHOWN / 2;
    this.more = box.querySelector(".more");
    this.more.addEventListener("click", () => ((this.most += this.step), this.show()));
    for (const each of all(".copy", box)) each.addEventListener("click", () => copyText(all("code", each.nextElementSibling), each));
    const cards = box.querySelector(".cards");
    cards.addEventListener("click", ({ target }) => target.closest("a, code, button, summary") || show(target.closest(".card")));
    cards.addEventListener("keydown", (event) => {
      if (!event.target.matches(".card") || !["Enter", " "].includes(event.key)) return;
      event.preventDefault();
      show(event.target);
    });
    this.show();
  }
  select(wanted) {
    for (const name of [...wanted.keys()]) if (!KNOWN.includes(name) && !this.slices.has(name)) wanted.delete(name);
    if (!wanted.has("model")) for (const name of ["true", "found", "at"]) wanted.delete(name); // they are of one model
    if (!wanted.has("model") && wanted.get("outcome") !== "all") wanted.delete("outcome");
    this.most = this.step;
    super.select(wanted);
  }
  has(card, wanted) {
    const at = scoreFrom(wanted), score = card.score;
    const plain = [...wanted].filter(([name]) => !["at", "from", "to", "outcome", "true", "found"].includes(name));
    if (!plain.every(([name, value]) => fits(card[this.slices.get(name) ?? name], value))) return false;
    const above = Number(wanted.get("from") ?? -Infinity), below = Number(wanted.get("to") ?? Infinity);
    if ((wanted.has("from") || wanted.has("to")) && !(score !== null && score >= above && score < below)) return false;
    if (isOfMatrix(wanted)) {
      return card.cells.some(([model, true_, found, low, high]) => model === wanted.get("model") && low <= at && at <= high
        && (wanted.get("true") ?? true_) === true_ && (wanted.get("found") ?? found) === found);
    }
    const kept = score !== null && score >= at, isTrue = card.outcome === "tp", isFalse = card.outcome === "fp";
    const counted = { all: true, tp: isTrue && kept, fp: isFalse && kept, fn: card.outcome === "fn" || (isTrue && !kept) };
    return counted[wanted.get("outcome")] ?? (!this.hasErrors || card.error !== "");
  }
  // The same as a query of the files that are written beside the page.
  sql() {
    const wanted = this.wanted, at = sqlNumber(scoreFrom(wanted)), file = (name) => quoted(`${this.box.dataset.tables}/${name}.parquet`);
    const columns = { category: "name", image: "CAST(image_id AS VARCHAR)" }, where = [];
    let source = file(this.box.dataset.file);
    if (isOfMatrix(wanted)) {
      source += ` JOIN ${file("confusion_cells")} AS cells USING ("row")`;
      for (const name of ["model", "true", "found"]) if (wanted.has(name)) where.push(`cells."${name}" = ${quoted(wanted.get(name))}`);
      where.push(`cells.score_from <= ${at}`, `cells.score_to >= ${at}`);
    } else if (wanted.get("outcome") === "fn") where.push(`(outcome = 'fn' OR (outcome = 'tp' AND score < ${at}))`);
    else if (["tp", "fp"].includes(wanted.get("outcome"))) where.push(`outcome = ${quoted(wanted.get("outcome"))}`, `score >= ${at}`);
    else if (this.hasErrors && wanted.get("outcome") !== "all") where.push("error IS NOT NULL");
    for (const [name, value] of wanted) {
      if (["at", "outcome", "true", "found"].includes(name) || (name === "model" && isOfMatrix(wanted))) continue;
      if (name === "from") where.push(`score >= ${sqlNumber(Number(value))}`);
      else if (name === "to") where.push(`score < ${sqlNumber(Number(value))}`);
      else if (this.slices.has(name)) where.push(`list_contains("${name.replaceAll('"', '""')}", ${quoted(value)})`);
      else if (name === "model") where.push(`list_contains(model, ${quoted(value)})`);
      else where.push(`${columns[name] ?? name} = ${quoted(value)}`);
    }
    return `SELECT * FROM ${source}${where.length ? ` WHERE ${where.join(" AND ")}` : ""}`;
  }
  show() {
    super.show();
    const chosen = this.cards.filter((card) => this.has(card, this.wanted)), first = new Set(chosen.slice(0, this.most));
    for (const card of this.cards) card.element.hidden = !first.has(card);
    const left = chosen.length - this.most, mark = markOf(this.section, this.wanted);
    this.more.hidden = left <= 0;
    this.more.textContent = `Show ${Math.min(left, this.step)} more of ${left}`;
    this.box.querySelector("output").append(` · ${cardsIn(chosen.length)}${mark ? rowsOf(mark, this.wanted) : ""}`);
    this.box.querySelector(".selected .sql").textContent = this.sql();
    this.box.querySelector(".selected .image-ids").textContent = [...new Set(chosen.map((card) => card.image))].join("\n");
  }
  sort() {
    const [by, direction] = this.form.querySelector("[name=sort]").value.split(" ");
    const sign = direction === "up" ? 1 : -1, last = (card) => Number(card.score === null);
    this.cards.sort((one, other) =>
      by === "" ? one.place - other.place : last(one) - last(other) || sign * (one.score - other.score) || one.place - other.place);
    this.box.querySelector(".cards").append(...this.cards.map((card) => card.element));
    this.show();
  }
}

const KNOWN = ["category", "error", "kind", "model", "change", "image", "true", "found", "outcome", "from", "to", "at"];
// The score from which on detections count for a selection: its own, or that of the page's operating point.
const scoreFrom = (wanted) =>
  wanted.get("at") === "all" ? -Infinity : Number(wanted.get("at") ?? bestScore(wanted.get("model")));
const isOfMatrix = (wanted) => wanted.has("true") || wanted.has("found");
const cardsIn = (n) => `${n} ${n === 1 ? "card" : "cards"}`;

// Marks are links, and their addresses hold their selection, so that they can be copied and opened in another tab.
const addressOf = (section, wanted) => {
  const parts = [section === "gallery" && `${wanted}` ? "" : section, `${wanted}`];
  return `#${parts.filter((part) => part).join("&")}`;
};
const selectionOf = (mark) => new URLSearchParams(mark.dataset.select);
const placed = new Map(); // marks by their addresses
for (const mark of all("a[data-select]")) {
  mark.dataset.section = mark.getAttribute("href").slice(1);
  mark.setAttribute("href", addressOf(mark.dataset.section, selectionOf(mark)));
  placed.set(mark.getAttribute("href"), mark);
}
const markOf = (section, wanted) => {
  const bare = new URLSearchParams([...wanted].filter(([name]) => name !== "at"));
  return placed.get(addressOf(section, wanted)) ?? placed.get(addressOf(section, bare));
};
const galleryOf = (mark) => galleries.find((each) => each.section === mark.dataset.section);
const wantedOf = (mark) => { // a number that follows the slider is that of the present threshold
  const wanted = selectionOf(mark);
  if (mark.dataset.at !== undefined && position > 0) wanted.set("at", scoresOf(wanted.get("model"))[position]);
  return wanted;
};
const rowsOf = (mark, wanted) => {
  let text = mark.dataset.rows ?? mark.textContent;
  if (mark.dataset.at !== undefined) {
    text = expanded(mark.dataset.at)[Math.max(scoresOf(wanted.get("model")).indexOf(wanted.get("at"), 1), 0)];
  }
  const n = text === "" ? NaN : Number(text.replaceAll(",", ""));
  return isNaN(n) ? "" : ` of ${n.toLocaleString("en")} ${n === 1 ? "row" : "rows"}`;
};
const galleries = all("[data-values]").map((box) => (box.matches(".gallery") ? new Gallery(box) : new Filter(box)));

// The selection in the address: "#category=worker&error=miss"; that of another gallery begins with its name.
const go = (gallery, wanted) => {
  const before = location.href;
  location.hash = addressOf(gallery.section, wanted);
  if (location.href === before) read(); // the same mark again
};
const read = () => {
  const left = document.getElementById(location.hash.slice(1))?.closest("[hidden]"); // a place that the filters hide
  const text = left ? "" : location.hash.slice(1), wanted = new URLSearchParams(text);
  const gallery = galleries.find((each) => wanted.has(each.section)) ?? galleries[0];
  if (!gallery || !(text === "" || text === gallery.section || text.includes("="))) return; // another section
  wanted.delete(gallery.section);
  for (const each of galleries) {
    const own = each === gallery ? wanted : new URLSearchParams();
    if (`${own}` !== `${each.wanted}`) each.select(own);
  }
  if (left || `${wanted}`) (left ?? document.getElementById(gallery.section)).scrollIntoView();
};
document.addEventListener("click", (event) => {
  const mark = event.target.closest("a[data-select]"), gallery = mark && galleryOf(mark);
  if (!gallery || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(gallery, wantedOf(mark));
  gallery.box.querySelector("output").focus({ preventScroll: true }); // the keyboard goes on there
});
const say = (event) => { // how many cards a mark has is counted when it is asked for
  const mark = event.target.closest?.("a[data-select]"), gallery = mark && galleryOf(mark);
  if (!gallery?.cards) return;
  const wanted = wantedOf(mark), n = gallery.cards.filter((card) => gallery.has(card, wanted)).length;
  mark.setAttribute("title", cardsIn(n) + rowsOf(mark, wanted));
};
for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, say);
addEventListener("hashchange", read);
addEventListener("DOMContentLoaded", read);
