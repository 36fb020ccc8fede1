"""All public names of apframe, with dots, and their modules: `evaluate`, `plot.slices`, `similarity.BoxIoU`."""

from __future__ import annotations

from apframe.lazily import homes_of

PACKAGES = ("lists", "plot", "protocols", "similarity", "training")
HOMES = homes_of("apframe") | {
    f"{package}.{name}": home
    for package in PACKAGES
    for name, home in homes_of(f"apframe.{package}").items()
    if name not in homes_of("apframe")
}
