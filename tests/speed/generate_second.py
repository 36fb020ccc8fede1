"""Make detections of a second model on the large sets of `make bench`, beside those that `data/generate.py` made.

    python tests/speed/generate_second.py --out DIR --detections 450000

reads DIR/instances.json and writes DIR/second_450000.json, which has as many detections of the sample set's model b. The
same arguments and the same NumPy make the same bytes.
"""

from __future__ import annotations

import argparse
import json
import runpy
from pathlib import Path

import numpy as np
import polars as pl

GENERATE = Path(__file__).resolve().parents[2] / "data" / "generate.py"


def main() -> None:
    parser = argparse.ArgumentParser(description="Make detections of a second model.")
    parser.add_argument("--out", type=Path, required=True, help="the folder of instances.json")
    parser.add_argument("--seed", type=int, default=20_261)
    parser.add_argument("--detections", type=int, action="append", required=True, help="exact numbers, one file for each")
    options = parser.parse_args()

    generate, rng = runpy.run_path(str(GENERATE)), np.random.default_rng(options.seed)
    content = json.loads((options.out / "instances.json").read_bytes())
    tables = {name: pl.DataFrame(content[name], infer_schema_length=None) for name in ("images", "categories", "annotations")}
    tables["categories"] = generate["make_categories"](rng, tables["categories"].height)  # which knows how frequent they are
    for n in options.detections:
        detections = generate["make_detections"](rng, generate["MODELS"]["model_b"], *tables.values(), n)
        detections.write_json(options.out / f"second_{n}.json")


if __name__ == "__main__":
    main()
