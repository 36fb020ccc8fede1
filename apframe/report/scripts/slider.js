// The slider of the score threshold: numbers with `data-at` have their texts at all positions. Position 0 is the best F1 of
// each model, the others are the same score for all models.
const slider = document.querySelector(".slider");
const [models, scores] = slider ? [JSON.parse(slider.dataset.names), JSON.parse(slider.dataset.scores)] : [[], []];
let position = 0;
const scoresOf = (model) => scores[Math.max(models.indexOf(model), 0)] ?? ["-Infinity"];
const bestScore = (model) => Number(scoresOf(model)[0]);
const thresholdOf = (role) => Number((scores["abcdef".indexOf(role)] ?? ["-Infinity"])[position]); // of the model drawn so
const expanded = (text) => text.split(" ").flatMap((run) => {
  const [value, n = 1] = run.split("*");
  return Array(Number(n)).fill(value);
});
const following = all("[data-at]").map((element) => ({ element, texts: expanded(element.dataset.at), inMatrix: !!element.closest(".matrix") }));
const rowsOfMatrix = all(".matrix tbody tr").map((row) => [...row.cells].slice(1));

const shade = (cells) => { // by the share of the row, as the page has them at first
  const shares = JSON.parse(cells[0].closest("table").dataset.shares);
  const counts = cells.map((cell) => Number(cell.textContent.replaceAll(",", "")));
  const total = Math.max(counts.reduce((sum, n) => sum + n, 0), 1);
  cells.forEach((cell, at) => {
    const step = counts[at] ? `s${1 + shares.filter((least) => counts[at] / total > least).length}` : "";
    const name = `${step} ${cell.classList.contains("right") ? "right" : ""}`.trim();
    if (cell.className !== name) cell.className = name;
  });
};
const move = (to) => {
  position = to;
  for (const { element, texts, inMatrix } of following) {
    if (element.textContent === texts[position]) continue;
    element.textContent = texts[position];
    if (inMatrix) element.hidden = texts[position] === "0";
  }
  rowsOfMatrix.forEach(shade);
  const score = Number(scores[0][position]);
  for (const line of all("line.here")) {
    const [low, high, left, right] = JSON.parse(line.dataset.ends); // of the scores, and of their axis
    for (const end of ["x1", "x2"]) line.setAttribute(end, left + ((score - low) / (high - low)) * (right - left));
    line.setAttribute("visibility", position ? "visible" : "hidden");
  }
  const words = position ? `from ${score < 0.001 ? score.toPrecision(3) : score.toFixed(3)}` : slider.dataset.best;
  slider.querySelector("output").textContent = words;
  slider.querySelector("input").setAttribute("aria-valuetext", words);
  document.dispatchEvent(new Event("threshold"));
};
if (slider) {
  const input = slider.querySelector("input");
  slider.hidden = false;
  input.addEventListener("input", () => move(Number(input.value)));
  slider.addEventListener("submit", (event) => event.preventDefault());
  slider.addEventListener("reset", () => move(0));
}
