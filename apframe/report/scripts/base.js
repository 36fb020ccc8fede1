"use strict";
// The page can be read without this script, which sorts tables, filters cards and opens them one at a time.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (name, text, click) => {
  const made = document.createElement(name);
  made.textContent = text;
  if (click) made.addEventListener("click", click);
  return made;
};

// On paper everything is open, and every picture is there.
addEventListener("beforeprint", () => {
  for (const each of all("details:not(.card *)")) each.open = true;
  for (const each of all("img")) each.loading = "eager";
});
