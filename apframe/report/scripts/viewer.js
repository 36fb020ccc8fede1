// One card, large, with its whole picture, and with its neighbours at hand: arrow keys go through those that the filters leave.
const dialog = document.body.appendChild(document.createElement("dialog"));
const bar = dialog.appendChild(document.createElement("div"));
const shown = dialog.appendChild(document.createElement("div"));
let current = null, drawing = null;
const show = (card) => {
  current = card;
  const copy = card.cloneNode(true);
  copy.removeAttribute("tabindex");
  for (const each of all("details", copy)) each.open = true;
  for (const each of [copy, ...all("[id]", copy)]) each.removeAttribute("id");
  shown.replaceChildren(copy);
  drawing = copy.querySelector(".drawing");
  const { width, height } = drawing.querySelector("svg").viewBox.baseVal;
  drawing.style.aspectRatio = `${width} / ${height}`;
  place(1, 0, 0);
  hideBelow();
  if (!dialog.open) dialog.showModal();
};
const step = (by) => {
  const left = all(".card", current.closest(".gallery")).filter((card) => !card.hidden);
  show(left[(left.indexOf(current) + by + left.length) % left.length]);
};

// The picture is `zoom` times as large as its frame, which it fills, and begins at `left` and `top`: shares of the frame.
const MOST = 16, FACTOR = 1.5;
const view = { zoom: 1, left: 0, top: 0 };
const within = (value, least, most) => Math.min(most, Math.max(least, value));
const place = (zoom, left, top) => {
  Object.assign(view, { zoom, left: within(left, 1 - zoom, 0), top: within(top, 1 - zoom, 0) });
  const [size, x, y] = [zoom, view.left, view.top].map((share) => `${100 * share}%`);
  Object.assign(drawing.querySelector(".whole").style, { left: x, top: y, width: size, height: size });
  drawing.style.setProperty("--zoom", zoom); // labels stay as large as they are
  drawing.classList.toggle("zoomed", zoom > 1);
};
const zoomAt = (factor, [x, y], [toX, toY] = [x, y]) => { // what is there stays there, or gets to another place
  const zoom = within(view.zoom * factor, 1, MOST), ratio = zoom / view.zoom;
  place(zoom, toX - (x - view.left) * ratio, toY - (y - view.top) * ratio);
};
const inFrame = (x, y) => {
  const frame = drawing.getBoundingClientRect();
  return [(x - frame.left) / frame.width, (y - frame.top) / frame.height];
};
const at = (event) => inFrame(event.clientX, event.clientY);
const zoomBy = (factor) => { // around what the card is about, if it can be seen
  const boxes = all("g.subject", drawing).map((each) => each.getBoundingClientRect());
  const middle = (start, end) => (Math.min(...boxes.map((box) => box[start])) + Math.max(...boxes.map((box) => box[end]))) / 2;
  const subject = inFrame(middle("left", "right"), middle("top", "bottom"));
  zoomAt(factor, subject.every((share) => share > 0 && share < 1) ? subject : [0.5, 0.5]);
};
const isInside = (event) => drawing.contains(event.target);
shown.addEventListener("wheel", (event) => {
  if (!isInside(event) || (view.zoom === 1 && event.deltaY > 0)) return; // over a whole picture, the dialog scrolls
  event.preventDefault();
  zoomAt(Math.exp(-event.deltaY * (event.deltaMode ? 16 : 1) * (event.ctrlKey ? 0.01 : 0.002)), at(event));
}, { passive: false });
shown.addEventListener("dblclick", (event) => isInside(event) && zoomAt(view.zoom > 1 ? 0 : 3, at(event)));
const pointers = new Map();
const gauge = () => { // the middle of two fingers, and how far they are apart
  const [one, other = one] = [...pointers.values()];
  const apart = Math.hypot(one[0] - other[0], one[1] - other[1]);
  return { apart, middle: [(one[0] + other[0]) / 2, (one[1] + other[1]) / 2] };
};
shown.addEventListener("pointerdown", (event) => {
  if (!isInside(event) || event.button > 0) return;
  pointers.set(event.pointerId, at(event));
  drawing.setPointerCapture(event.pointerId);
});
shown.addEventListener("pointermove", (event) => {
  if (!pointers.has(event.pointerId)) return;
  const before = gauge();
  pointers.set(event.pointerId, at(event));
  const after = gauge();
  zoomAt(after.apart && before.apart ? after.apart / before.apart : 1, before.middle, after.middle);
});
for (const end of ["pointerup", "pointercancel"]) shown.addEventListener(end, (event) => pointers.delete(event.pointerId));

// Switches for what is drawn, which stay as they are from card to card. The line that explains the strokes has the names.
const switches = document.createElement("div");
for (const role of ["truth", "a", "b", "ignored"]) {
  const stroke = document.querySelector(`.drawn-as g.${role}`), box = document.createElement("input");
  if (!stroke && !document.querySelector(`.card g.${role}`)) continue;
  const words = role === "ignored" ? ["ignored objects"] : stroke ? stroke.closest("span").cloneNode(true).childNodes : [role];
  Object.assign(box, { type: "checkbox", checked: true, name: role });
  box.addEventListener("change", () => shown.classList.toggle(`without-${role}`, !box.checked));
  switches.appendChild(document.createElement("label")).append(box, ...words);
}

// Detections below the threshold of their model are hidden, if the page has one.
const hideBelow = () => {
  for (const each of all(".drawing [data-score]", shown)) {
    const least = Number(thresholdOf(each.classList[0]).toPrecision(6)); // scores have six digits
    each.classList.toggle("below", Number(each.dataset.score) < least);
  }
};
document.addEventListener("threshold", hideBelow);

const tool = (text, label, click) => Object.assign(make("button", text, click), { ariaLabel: label, title: label });
const keys = {
  ArrowLeft: () => step(-1), ArrowRight: () => step(1), 0: () => place(1, 0, 0),
  "+": () => zoomBy(FACTOR), "=": () => zoomBy(FACTOR), "-": () => zoomBy(1 / FACTOR),
};
const moves = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }; // with Shift
dialog.setAttribute("aria-label", "One error");
bar.className = "bar";
switches.className = "switches";
bar.append(
  make("button", "← Previous", keys.ArrowLeft), make("button", "Next →", keys.ArrowRight),
  tool("−", "Zoom out", keys["-"]), tool("+", "Zoom in", keys["+"]), tool("Whole", "Whole picture", keys[0]),
  make("button", "Copy ids", (event) => copyText(all(".ids", shown), event.target)),
  make("button", "Copy SQL", (event) => copyText(all(".sql", shown), event.target)),
  make("button", "Close", () => dialog.close()), switches,
);
dialog.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const move = event.shiftKey && moves[event.key];
  if (move) place(view.zoom, view.left + move[0], view.top + move[1]);
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
dialog.addEventListener("close", () => current && current.focus());
