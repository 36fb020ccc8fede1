"""Make VOC's files of a generated street set: a folder of XML files, and a results file for each class.

python tests/speed/generate_voc.py --out FOLDER --images 5000
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import apframe as apf

GENERATE = Path(__file__).resolve().parents[2] / "data" / "generate.py"
ANNOTATIONS, DETECTIONS = 7, 50  # of each image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--images", type=int, required=True)
    options = parser.parse_args()
    n_detections = DETECTIONS * options.images
    with TemporaryDirectory() as folder:
        sizes = {"--images": options.images, "--categories": 80, "--annotations": ANNOTATIONS * options.images}
        arguments = [str(word) for pair in {**sizes, "--detections": n_detections}.items() for word in pair]
        subprocess.run([sys.executable, GENERATE, "--out", folder, *arguments], check=True)
        truth = apf.read_coco(Path(folder) / "instances.json")
        detections = apf.read_coco_results(Path(folder) / f"detections_{n_detections}.json")
        apf.write_dataset(truth, options.out / "truth", "voc")
        apf.write_results(detections, options.out / "results", "voc", dataset=truth)


if __name__ == "__main__":
    main()
