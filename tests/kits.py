"""The kits of benchmarks, for slow tests and `make bench`: each in an environment of its own, made when first asked for.

`python -m tests.kits` makes those of the slow tests beforehand.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# what is installed, and what is installed without its own requirements, which may be gigabytes
KITS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "av2": (
        ("joblib", "matplotlib", "numba", "numpy", "opencv-python-headless", "pandas", "polars", "pyarrow", "scipy", "tqdm",
         "universal-pathlib"),
        ("av2==0.3.6",),
    ),
    "nuscenes": (("nuscenes-devkit==1.2.0",), ()),
    # PyTorch for the CPU, from an index that has it: that of PyPI takes gigabytes, and is not installed here
    "training": (
        ("click", "duckdb>=2,<3", "lightning==2.6.6", "matplotlib", "msgspec", "opencv-python-headless", "pillow",
         "polars>=2.1,<3", "psutil", "pyarrow", "pyyaml", "requests", "rich", "tensorboard==2.21.0", "tensorboardX==2.6.5",
         "torch==2.13.0+cpu", "wandb==0.31.0"),
        ("ultralytics==8.4.190", "ultralytics-thop"),  # without torchvision, of which a stub is enough
    ),
    "scalabel": (("scalabel==0.3.1", "pydantic<2", "setuptools<81"), ()),
}  # fmt: skip
OF_SPEED = {"driving": (("nuscenes-devkit==1.2.0", "polars", "numba"), ("vod-tudelft==1.0.3",))}


class NotInstalledError(Exception):
    """The environment of a kit cannot be made, such as without a network; the message is the end of what pip printed."""


def environment(name: str) -> Path:
    """The Python of `.venv-kits/{name}`, which is made if it is not there; a NotInstalledError if packages cannot be had."""
    import fcntl

    requirements, alone = (KITS | OF_SPEED)[name]
    folder = ROOT / ".venv-kits" / name
    folder.parent.mkdir(exist_ok=True)
    python = folder / "bin" / "python"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            try:
                venv.create(folder, with_pip=True, clear=True)
                for wanted in (requirements, ("--no-deps", *alone) if alone else ()):
                    if wanted:
                        install = [
                            str(python),
                            "-m",
                            "pip",
                            "install",
                            "-q",
                            "--no-compile",
                            "--disable-pip-version-check",
                            *wanted,
                        ]
                        subprocess.run(install, capture_output=True, check=True)
            except subprocess.CalledProcessError as error:
                printed = (error.stderr or error.output or b"").decode(errors="replace").strip()
                raise NotInstalledError(f"{name} cannot be installed: {printed[-300:]}") from error
            (folder / "installed").touch()
    return python


def run_kit(name: str, script: str, given: Any) -> Any:
    """What a script prints as its last line, as JSON, in the environment of a kit; `given` is in its variable of that name.

    Where the environment cannot be made, such as without a network, the test is skipped.
    """
    import pytest

    pytest.importorskip("fcntl", reason="tests that run at once wait for each other by locks of files")
    try:
        python = environment(name)
    except NotInstalledError as error:
        pytest.skip(f"{error} (Python {sys.version.split()[0]})")
    code = f"import json, sys\ngiven = json.load(sys.stdin)\n{script}"
    ended = subprocess.run([python, "-c", code], input=json.dumps(given), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout.strip().split("\n")[-1])


if __name__ == "__main__":
    for kit in KITS:
        try:
            environment(kit)
        except NotInstalledError as failed:
            print(f"{failed}; its tests will skip", file=sys.stderr)
