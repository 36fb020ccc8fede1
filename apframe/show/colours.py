"""The colours of pages and charts, defined once."""

from __future__ import annotations

# by name, on light and on dark paper
COLOURS = {
    "paper": ("#fff", "#0f1318"),
    "ink": ("#1b1f24", "#e6edf3"),
    "soft": ("#57606a", "#a3adb8"),
    "line": ("#d0d7de", "#343b44"),
    "band": ("#f6f8fa", "#171c23"),
    "link": ("#0550ae", "#79b8ff"),
    "better": ("#0a6b2d", "#56d364"),
    "worse": ("#b42318", "#ff8a80"),
    "unclear": ("#57606a", "#a3adb8"),
    "a": ("#0b5cad", "#79b8ff"),
    "b": ("#9a4a00", "#f0b072"),
}
INK, SOFT, GRID, PAPER = (COLOURS[name][0] for name in ("ink", "soft", "line", "paper"))
VERDICTS = {name: COLOURS[name][0] for name in ("better", "worse", "unclear")}
# the first two models, then as Okabe and Ito 2008: distinct with any colour vision
PALETTE = [COLOURS["a"][0], COLOURS["b"][0], "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
SHADES = (6, 16, 26, 36, 88, 100)  # percent of the first colour, of cells from the least share of their row to the largest


def variables() -> str:
    """Return the colours as variables of CSS, and the shades of cells.

    >>> variables().startswith(":root { color-scheme: light dark; --paper: #fff;")
    True
    """
    light, dark = (" ".join(f"--{name}: {of[k]};" for name, of in COLOURS.items()) for k in (0, 1))
    shades = (
        f".matrix .s{step} {{ background: color-mix(in srgb, var(--a) {share}%, var(--paper)); }}"
        for step, share in enumerate(SHADES, 1)
    )
    in_dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    return "\n".join([f":root {{ color-scheme: light dark; {light} }}", in_dark, *shades, ""])


def shade(step: int) -> str:
    """Return the colour of cells of a shade, from 1 to 6, on light paper.

    >>> shade(1), shade(6)
    ('#f0f5fa', '#0b5cad')
    """
    share = SHADES[step - 1] / 100
    return "#" + "".join(f"{round(share * part + (1 - share) * 255):02x}" for part in bytes.fromhex(PALETTE[0][1:]))
