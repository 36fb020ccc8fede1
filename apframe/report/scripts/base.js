"use strict";
// The page can be read without this script, which sorts tables, moves the score threshold, filters cards and opens them.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (name, text, click) => {
  const made = document.createElement(name);
  made.textContent = text;
  if (click) made.addEventListener("click", click);
  return made;
};
const copyText = async (elements, button) => {
  const name = button.textContent;
  try {
    await navigator.clipboard.writeText(elements.map((each) => each.textContent).join("\n"));
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(elements[0]); // for Ctrl-C
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = name), 1500);
};

// On paper everything is open, and every picture is there.
addEventListener("beforeprint", () => {
  for (const each of all("details:not(.card *)")) each.open = true;
  for (const each of all("img")) each.loading = "eager";
});
