"""Draw the pictures of the sample set: one small SVG file for each image of data/street, from its boxes and attributes.

    python data/generate_pictures.py

A picture shows the street that the annotations describe: sky and light by time of day and weather, the direction of the road by
camera, the colours of houses by city, and each object as a simple shape in its box, the far ones first. What is not annotated,
such as houses and trees, is drawn at random from the image's id. The same annotations make the same bytes.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

WIDTH, HEIGHT, HORIZON = 1280, 720, 300

CLOTHES = ["#b5443c", "#2f6690", "#3d7a4a", "#d9a441", "#6b4c8a", "#444b54", "#c26a8b"]
PAINTS = ["#c8ccd1", "#2b3a55", "#a3302b", "#3c6e71", "#e8e6df", "#4a4e55", "#7a8f3c"]
WHEELS = '<circle cx="28" cy="84" r="15"/><circle cx="{}" cy="84" r="15"/>'
LAMPS = [(20, "#ff4d3d"), (50, "#ffc83d"), (80, "#4ee06a")]  # how far down, in percent, and the colour
# the shapes of each category, on a sheet of this width and height, and the colours that they may have in place of currentColor
SHAPES: dict[str, tuple[int, int, list[str], list[str]]] = {
    "pedestrian": (
        40, 100,
        ['<circle cx="20" cy="10" r="9" fill="#e0ac86"/><path d="M8 24q12-9 24 0l3 32h-6l-2-18v20H13V38l-2 18H5z" '
         'fill="currentColor"/><path d="M13 56h6l1 20 1-20h6v44h-6l-1-24-1 24h-6z" fill="#2b303a"/>'], CLOTHES,
    ),
    "rider": (
        50, 100,
        ['<path d="M18 62h14v36h-6V74h-2v24h-6z" fill="#22262e"/><circle cx="25" cy="82" r="17" fill="none" stroke="#22262e" '
         'stroke-width="5"/><path d="M11 24q14-9 28 0l3 30-7 8H15l-7-8z" fill="currentColor"/>'
         '<path d="M14 12a11 11 0 0 1 22 0z" fill="#e9ecef"/><path d="M15 12h20q-2 9-10 9t-10-9" fill="#e0ac86"/>'], CLOTHES,
    ),
    "worker": (
        42, 100,
        ['<path d="M11 9a10 10 0 0 1 20 0z" fill="#f4d03f"/><path d="M12 10h18q-2 9-9 9t-9-9" fill="#e0ac86"/>'
         '<path d="M8 25q13-8 26 0l3 32h-6l-2-18v20H13V39l-2 18H5z" fill="#f07f23"/><path d="M11 34h20v5H11zM12 46h18v5H12z" '
         'fill="#fff3b0"/><path d="M13 58h7l1 18 1-18h7v42h-7l-1-24-1 24h-7z" fill="currentColor"/>'], ["#27364a", "#3d4035"],
    ),
    "car": (
        150, 100,
        ['<path d="M4 62q2-14 18-16L44 22Q50 14 62 14h36q12 0 20 9l18 22q12 2 12 16v22q0 4-5 4H8q-6 0-6-5z" '
         'fill="currentColor"/><path d="M50 26q3-5 9-5h15v24H36zM82 21h16q7 0 11 6l13 18H82z" fill="#1d2a3a"/>'
         '<path d="M3 58h10v9H3z" fill="#ffe9a8"/><path d="M139 58h9v9h-9z" fill="#c1272d"/>' + WHEELS.format(122)], PAINTS,
    ),
    "van": (
        130, 100,
        ['<path d="M2 60l18-36Q24 8 36 8h84q8 0 8 8v66q0 5-5 5H7q-5 0-5-5z" fill="currentColor"/>'
         '<path d="M14 48l13-24q2-5 8-5h14v29zM56 19h26v29H56z" fill="#1d2a3a"/><path d="M2 60h9v8H2z" fill="#ffe9a8"/>'
         + WHEELS.format(104)], PAINTS,
    ),
    "truck": (
        140, 100,
        ['<path d="M44 6h94v74H44z" fill="currentColor"/><path d="M2 50l14-26h26v58H6q-4 0-4-5z" fill="#8c2f2b"/>'
         '<path d="M8 48l11-18h17v18z" fill="#1d2a3a"/><path d="M2 60h8v8H2z" fill="#ffe9a8"/>'
         '<path d="M44 80h94v5H44z" fill="#333"/>' + WHEELS.format(112)], ["#dfe3e6", "#b9c7d6", "#d8c9a3", "#7fa08a"],
    ),
    "bus": (
        160, 100,
        ['<rect x="2" y="4" width="156" height="83" rx="9" fill="currentColor"/><path d="M8 18h26v30H8zM40 18h26v30H40zM72 18'
         'h26v30H72zM104 18h26v30h-26zM136 18h16v58h-16z" fill="#1d2a3a"/><path d="M2 56h156v6H2z" fill="#fff" opacity=".7"/>'
         + WHEELS.format(122)], ["#d9a441", "#b5443c", "#3f7cac"],
    ),
    "bicycle": (
        120, 100,
        ['<g fill="none" stroke="#1b1f24" stroke-width="6"><circle cx="27" cy="70" r="25"/><circle cx="93" cy="70" r="25"/></g>'
         '<path d="M27 70l18-40h38l10 40M45 32l18 38h-36M63 70l22-38M38 20h18M83 30l-3-14h14" fill="none" '
         'stroke="currentColor" stroke-width="6"/>'], CLOTHES,
    ),
    "motorcycle": (
        120, 100,
        ['<g fill="#444" stroke="#1b1f24" stroke-width="9"><circle cx="25" cy="74" r="20"/><circle cx="95" cy="74" r="20"/></g>'
         '<path d="M25 74L42 30h-12v-8h24l8 16q22-10 34 4l16 2-4 12-16 4-8 20H52z" fill="currentColor"/>'], PAINTS,
    ),
    "scooter": (
        90, 100,
        ['<path d="M30 12l-9-6h-9v8h8l8 50q14 14 32 10l4-18h22v24H16z" fill="currentColor"/><path d="M52 48h32v9H52z" '
         'fill="#22262e"/><g fill="#1b1f24"><circle cx="18" cy="84" r="15"/><circle cx="72" cy="84" r="15"/></g>'], CLOTHES,
    ),
    "traffic light": (
        45, 100,
        ['<rect x="1" y="1" width="43" height="98" rx="9" fill="#20252b"/><g fill="#4a2b2b"><circle cx="22" cy="20" r="12"/>'
         '<circle cx="22" cy="50" r="12"/><circle cx="22" cy="80" r="12"/></g>'
         f'<circle cx="22" cy="{at}" r="12" fill="{colour}"/>' for at, colour in LAMPS], [],
    ),
    "traffic sign": (
        95, 100,
        ['<circle cx="47" cy="50" r="44" fill="#fff" stroke="#c1272d" stroke-width="12"/><path d="M22 42h50v16H22z" '
         'fill="#20252b"/>',
         '<path d="M47 8l43 84H4z" fill="#fff" stroke="#c1272d" stroke-width="11" stroke-linejoin="round"/>',
         '<path d="M47 4l44 46-44 46L3 50z" fill="#f4d03f" stroke="#fff" stroke-width="8"/>',
         '<circle cx="47" cy="50" r="46" fill="#2463a8"/><path d="M47 20l22 26H57v34H37V46H25z" fill="#fff"/>'], [],
    ),
}  # fmt: skip
ON_POLES = {"traffic light", "traffic sign"}
WITH_LIGHTS = {"car", "van", "truck", "bus", "motorcycle", "scooter"}

HOUSES = {
    "Aachen": ["#b7a08a", "#a58d79", "#c4b39c"], "Bergen": ["#b8544a", "#d9b36c", "#7f9aa8"],
    "Cadiz": ["#efe6d2", "#e6d3ae", "#f3eee2"], "Delft": ["#9c5b48", "#8a6a55", "#b08968"],
    "Esbjerg": ["#8fa3a8", "#a9b4b0", "#7d8b91"],
}  # fmt: skip
SKIES = {
    ("day", "clear"): ("#5fa8e0", "#d6ecf8"), ("day", ""): ("#9aa7b2", "#d3d9dd"),
    ("dusk", "clear"): ("#4b4a7c", "#f6a46a"), ("dusk", ""): ("#5c5a70", "#c9a491"),
    ("night", "clear"): ("#131b3a", "#3a4672"), ("night", ""): ("#191d2b", "#3d4352"),
}  # fmt: skip
ROADS = {"front": 640, "left": 250, "right": 1030}  # where the road vanishes
SHADES = {"dusk": ("#3a1f4d", 0.28), "night": ("#060a24", 0.42)}


def over_all(paint: str) -> str:
    return f'<path d="M0 0h{WIDTH}v{HEIGHT}H0z" {paint}/>'


def shade(image: dict[str, Any]) -> str:
    colour, opacity = SHADES[image["time_of_day"]]
    return over_all(f'fill="{colour}" opacity="{opacity}"')


def sky(image: dict[str, Any], rng: Random) -> str:
    """The sky, the sun or the moon, and clouds."""
    time, weather = image["time_of_day"], image["weather"]
    top, bottom = SKIES[time, weather if weather == "clear" else ""]
    drawn = (
        f'<linearGradient id="s" x2="0" y2="1"><stop stop-color="{top}"/><stop offset="1" stop-color="{bottom}"/>'
        f'</linearGradient><path d="M0 0h{WIDTH}v{HORIZON + 10}H0z" fill="url(#s)"/>'
    )
    if weather == "clear":
        x = rng.randrange(100, 1180)
        y, r, colour = {"day": (70, 34, "#fff6cf"), "dusk": (250, 42, "#ffd9a0"), "night": (80, 24, "#f3f0dc")}[time]
        drawn += f'<circle cx="{x}" cy="{y}" r="{r}" fill="{colour}"/>'
    n_clouds = 2 if weather == "clear" else 5
    if time == "night" and weather == "clear":
        stars = "".join(f"M{rng.randrange(WIDTH)} {rng.randrange(180)}h0" for _ in range(30))
        drawn += f'<path d="{stars}" stroke="#fff" stroke-width="3" stroke-linecap="round"/>'
        n_clouds = 0
    clouds = "".join(
        f'<path d="M{rng.randrange(-60, 1200)} {rng.randrange(50, 190)}q{a} -40 {b} -12 {a} -52 {2 * a} -8 {b} -8 {a} 20z"/>'
        for a, b in ((rng.randrange(24, 44), rng.randrange(30, 70)) for _ in range(n_clouds))
    )
    return drawn + (f'<g fill="#fff" opacity="{0.75 if weather == "clear" else 0.3}">{clouds}</g>' if clouds else "")


def houses(image: dict[str, Any], rng: Random) -> str:
    """A row of houses with windows up to the horizon, with trees before it."""
    night = image["time_of_day"] == "night"
    glass = "#ffe27a" if night else "#52626f"
    drawn = (
        f'<pattern id="w" width="34" height="44" patternUnits="userSpaceOnUse"><path d="M9 10h14v20H9z" fill="{glass}" '
        f'opacity=".7"/></pattern>'
    )
    walls: defaultdict[str, str] = defaultdict(str)
    roofs, every, x = "", "", rng.randrange(-80, 0)
    while x < WIDTH:
        wide, top = rng.randrange(90, 220), HORIZON - rng.randrange(60, 190)
        wall = f"M{x} {HORIZON + 12}V{top}h{wide}V{HORIZON + 12}z"
        walls[rng.choice(HOUSES[image["city"]])] += wall
        every += wall
        if rng.random() < 0.5:
            roofs += f"M{x - 6} {top}l{wide // 2 + 6}-38 {wide // 2 + 6} 38z"
        x += wide + rng.choice((0, 0, 4, 30))
    drawn += "".join(f'<path d="{path}" fill="{colour}"/>' for colour, path in sorted(walls.items()))
    drawn += f'<path d="{roofs}" fill="#7a4a3e"/>{shade(image) if night else ""}<path d="{every}" fill="url(#w)"/>'
    trees = [(rng.randrange(WIDTH), rng.randrange(26, 50)) for _ in range(rng.randrange(2, 6))]
    crown = "#e4ebef" if image["weather"] == "snow" else "#33523f" if night else "#4c7a4a"
    trunks = "".join(f"M{x - 4} {HORIZON + 14}v-{r}h8v{r}z" for x, r in trees)
    crowns = "".join(f'<circle cx="{x}" cy="{HORIZON - r}" r="{r}"/>' for x, r in trees)
    return f'{drawn}<path d="{trunks}" fill="#5a4636"/><g fill="{crown}">{crowns}</g>'


def road(image: dict[str, Any]) -> str:
    """The ground, and a road in perspective with its markings."""
    far = ROADS[image["camera"]]
    snow, rain = image["weather"] == "snow", image["weather"] == "rain"
    ground, asphalt = ("#dfe5e8", "#a9b0b6") if snow else ("#8f8a80", "#4f545c" if rain else "#676c73")

    def across(share: float, y: float) -> str:
        """A point of the road: its share from the left to the right edge, at a height of the picture."""
        near = (y - HORIZON) / (HEIGHT - HORIZON)
        return f"{far + (share - 0.5) * (60 + 1500 * near):.0f} {y}"

    def strip(left: float, right: float, top: int, bottom: int) -> str:
        return f"M{across(left, top)}L{across(right, top)}L{across(right, bottom)}L{across(left, bottom)}z"

    high = HORIZON + 8
    drawn = f'<path d="M0 {high}h{WIDTH}V{HEIGHT}H0z" fill="{ground}"/><path d="{strip(0, 1, high, HEIGHT)}" fill="{asphalt}"/>'
    kerbs = strip(-0.012, 0.012, high, HEIGHT) + strip(0.988, 1.012, high, HEIGHT)
    dashes = "".join(strip(0.493, 0.507, *ends) for ends in ((322, 334), (352, 372), (402, 434), (482, 532), (606, 682)))
    drawn += f'<path d="{kerbs}" fill="#c9c4b8"/><path d="{dashes}" fill="#eee" opacity=".8"/>'
    if rain:
        drawn += (
            f'<linearGradient id="p" x2="0" y2="1"><stop stop-color="#cfe0ee" stop-opacity=".5"/><stop offset="1" '
            f'stop-color="#cfe0ee" stop-opacity="0"/></linearGradient><path d="M0 {high}h{WIDTH}v260H0z" fill="url(#p)"/>'
        )
    return drawn


def whole_box(annotation: dict[str, Any], wide: int, tall: int) -> tuple[float, float, float, float]:
    """The box of the object as if it went on beyond the edge of the picture."""
    x, y, w, h = annotation["bbox"]
    if annotation["truncated"]:
        usual = h * wide / tall
        if x <= 0 and w < usual:
            x, w = x + w - usual, usual
        elif x + w >= WIDTH and w < usual:
            w = usual
        if y + h >= HEIGHT and h < w * tall / wide:
            h = w * tall / wide
    return x, y, w, h


def objects(annotations: list[dict[str, Any]], names: dict[int, str], rng: Random) -> tuple[str, str, str]:
    """The shapes that are used, the objects, the far ones first, and the lights on them."""
    used: dict[str, str] = {}
    placed, glows = "", ""
    for annotation in sorted(annotations, key=lambda each: (each["bbox"][1] + each["bbox"][3], each["id"])):
        name = names[annotation["category_id"]]
        wide, tall, shapes, colours = SHAPES[name]
        kind = rng.randrange(len(shapes))
        key = f"{name.replace(' ', '')}{kind}"
        used[key] = f'<symbol id="{key}" viewBox="0 0 {wide} {tall}" preserveAspectRatio="none">{shapes[kind]}</symbol>'
        x, y, w, h = whole_box(annotation, wide, tall)
        middle, bottom = x + w / 2, y + h
        if name in ON_POLES:
            pole = f"M{middle:.0f} {bottom:.0f}v{0.9 * h + 24:.0f}"
            placed += f'<path d="{pole}" stroke="#3b4047" stroke-width="{max(w / 12, 2):.0f}"/>'
        elif h > 20:
            placed += f'<ellipse cx="{middle:.0f}" cy="{bottom:.0f}" rx="{w / 2:.0f}" ry="{h / 22:.0f}" opacity=".35"/>'
        n = min(max(round(w / (h * wide / tall)), 1), 6) if annotation["iscrowd"] else 1  # a crowd is drawn as several
        for k in range(n):
            colour = f' color="{rng.choice(colours)}"' if colours else ""
            place = f'x="{x + k * w / n:.0f}" y="{y:.0f}" width="{w / n:.1f}" height="{h:.1f}"'
            placed += f'<use href="#{key}" {place}{colour}/>'
        if name == "traffic light":
            down, lamp = LAMPS[kind]
            glows += f'<circle cx="{middle:.0f}" cy="{y + down * h / 100:.0f}" r="{0.13 * h:.0f}" fill="{lamp}"/>'
        elif name in WITH_LIGHTS:
            glows += f'<circle cx="{x + 0.05 * w:.0f}" cy="{y + 0.63 * h:.0f}" r="{0.3 * h:.0f}"/>'
    return "".join(shape for _, shape in sorted(used.items())), placed, glows


def weather(image: dict[str, Any]) -> str:
    """What is between the camera and the street."""
    if image["weather"] == "fog":
        return (
            '<linearGradient id="f" x2="0" y2="1"><stop stop-color="#dfe3e6" stop-opacity=".55"/><stop offset=".45" stop-color='
            '"#dfe3e6" stop-opacity=".8"/><stop offset="1" stop-color="#dfe3e6" stop-opacity=".12"/></linearGradient>'
            + over_all('fill="url(#f)"')
        )
    falling = {
        "rain": ("M10 4v26M38 34v22M60 10v20", 'stroke="#e8f1fa" stroke-width="2" opacity=".4"', "rotate(14)"),
        "snow": (
            "M8 8h0M44 26h0M22 48h0M62 60h0",
            'stroke="#fff" stroke-width="7" stroke-linecap="round" opacity=".8"',
            "rotate(8)",
        ),
    }.get(image["weather"])
    if falling is None:
        return ""
    path, stroke, turned = falling
    return (
        f'<pattern id="x" width="70" height="66" patternUnits="userSpaceOnUse" patternTransform="{turned}"><path d="{path}" '
        f"{stroke}/></pattern>" + over_all('fill="url(#x)"')
    )


def picture(image: dict[str, Any], annotations: list[dict[str, Any]], names: dict[int, str]) -> str:
    """The whole picture as SVG."""
    rng = Random(image["id"])
    background = sky(image, rng) + houses(image, rng) + road(image)
    shapes, placed, glows = objects(annotations, names, rng)
    drawn = f"<defs>{shapes}</defs>{background}{placed}"
    if image["time_of_day"] in SHADES:
        drawn += shade(image)
        if glows:
            drawn += (
                '<radialGradient id="g"><stop stop-color="#fffbe0"/><stop offset=".25" stop-color="#ffe9a0" stop-opacity=".8"/>'
                f'<stop offset="1" stop-color="#ffdf80" stop-opacity="0"/></radialGradient><g fill="url(#g)">{glows}</g>'
            )
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{drawn}{weather(image)}</svg>\n'


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw a picture for each image of the sample set.")
    street = Path(__file__).parent / "street"
    parser.add_argument("--out", type=Path, default=street / "images", help="the folder to write")
    options = parser.parse_args()

    truth = json.loads((street / "instances.json").read_text())
    names = {each["id"]: each["name"] for each in truth["categories"]}
    of_image: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for annotation in truth["annotations"]:
        of_image[annotation["image_id"]].append(annotation)
    options.out.mkdir(parents=True, exist_ok=True)
    for image in truth["images"]:
        name = Path(image["file_name"]).with_suffix(".svg").name
        (options.out / name).write_text(picture(image, of_image[image["id"]], names))


if __name__ == "__main__":
    main()
