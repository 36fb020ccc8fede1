"""What the command prints for each benchmark: the table of its kit, on the samples of data/, for people and in Markdown."""

from __future__ import annotations

import re

import pytest

import apframe as apf
from apframe.evaluation.pivot import kit_lines
from tests.cli.test_command import command

pytestmark = pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
SAMPLES = {
    "nuscenes": ("data/driving/scenes", "data/driving/model_a.json"),
    "dota": ("data/aerial/dota/labelTxt", "data/aerial/dota/results"),
    "mmrotate": ("data/aerial/dota/labelTxt", "data/aerial/dota/results"),
    "voc2012": ("data/street/instances.json", "data/street/model_a.json"),
    "crowdhuman": ("data/people/crowd_val.odgt", "data/people/crowd_results.odgt"),
    "wider_face": ("data/people/faces/ground_truth", "data/people/faces/results"),
    "citypersons": ("data/people/walkers_val.json", "data/people/walkers_a.json"),
    "tinyperson": ("data/people/walkers_val.json", "data/people/walkers_a.json"),
    "coco_panoptic": ("data/segments/panoptic/truth.json", "data/segments/panoptic/model_a.json"),
    "cityscapes_panoptic": ("data/segments/panoptic/truth.json", "data/segments/panoptic/model_a.json"),
    "semantic": ("data/segments/semantic/truth", "data/segments/semantic/model_a"),
    "thumos14": ("data/video/thumos14/annotation", "data/video/thumos14/model_a.txt"),
    "activitynet": ("data/video/thumos14/annotation", "data/video/thumos14/model_a.txt"),
    "ava": ("data/video/ava/truth", "data/video/ava/model_a.csv"),
    "luna16": ("data/medical/luna16/annotations", "data/medical/luna16/model_a.csv"),
    "ultralytics": ("data/street/instances.json", "data/street/model_a.json"),
    "bdd100k": ("data/street/instances.json", "data/street/model_a.json"),
    "argoverse2": ("data/driving/scenes", "data/driving/model_a.json"),
}
TABLES = {
    "nuscenes": """\
     mAP     mATE     mASE     mAOE     mAVE     mAAE      NDS
  0.4555   0.4100   0.3264   0.3601   0.6918   0.1925   0.5297

 class                      AP      ATE      ASE      AOE      AVE      AAE
 barrier                 0.000    1.000    1.000    1.000        –        –
 bicycle                 0.496    0.197    0.181    0.577    0.503    0.146
 bus                     0.823    0.520    0.134    0.050    0.923    0.000
 car                     0.600    0.234    0.152    0.159    0.604    0.112
 construction_vehicle    0.000    1.000    1.000    1.000    1.000    1.000
 motorcycle              0.561    0.174    0.160    0.108    0.818    0.067
 pedestrian              0.705    0.194    0.147    0.092    0.630    0.083
 traffic_cone            0.654    0.284    0.179        –        –        –
 trailer                 0.546    0.241    0.128    0.117    0.391    0.124
 truck                   0.171    0.256    0.183    0.137    0.666    0.009
""",
    "dota": """\
 class               AP
 large-vehicle    81.57
 plane            62.12
 ship             72.73
 mean             72.14
""",
    "mmrotate": """\
 class               AP
 large-vehicle    0.816
 plane            0.636
 ship             0.727
 mean             0.727
""",
    "voc2012": """\
 class               AP
 pedestrian       39.63
 rider            40.64
 worker           45.42
 car              51.61
 van              52.63
 truck            61.44
 bus              63.05
 bicycle          47.61
 motorcycle       51.40
 scooter          46.59
 traffic light    23.20
 traffic sign     25.04
 mean             45.69
""",
    "crowdhuman": """\
      AP       MR       JI
   86.25    18.25    83.01
""",
    "wider_face": """\
 set          AP
 easy       87.1
 medium     83.4
 hard       70.8
""",
    "citypersons": """\
 subset           MR
 reasonable    43.66
 small         52.60
 heavy         89.86
 all           61.23
 bare          39.52
 partial       56.04
 heavy_2019    89.86
""",
    "tinyperson": """\
 size           AP50     AP25     AP75
 all           47.74    47.74    39.12
 tiny           0.00     0.00     0.00
 tiny1             –        –        –
 tiny2             –        –        –
 tiny3          0.00     0.00     0.00
 small         30.15    30.15    25.77
 reasonable    53.20    53.20    43.47
""",
    "coco_panoptic": """\
 categories       PQ       SQ       RQ
 All            77.4     90.6     84.0
 Things         50.9     84.1     60.0
 Stuff          95.0     95.0    100.0
""",
    "cityscapes_panoptic": """\
 category       PQ       SQ       RQ
 car          62.9     88.5     71.1
 person       38.9     79.6     48.9
 road         94.4     94.4    100.0
 building     94.4     94.4    100.0
 sky          96.2     96.2    100.0

 categories       PQ       SQ       RQ
 All            77.4     90.6     84.0
 Things         50.9     84.1     60.0
 Stuff          95.0     95.0    100.0
""",
    "semantic": """\
 class         IoU      Acc
 car         64.55    67.37
 person      46.58    49.54
 road        94.34    99.11
 building    94.40    96.99
 sky         96.24    98.00

    mIoU    fwIoU     mACC     pACC
   79.22    92.64    82.20    96.16
""",
    "thumos14": """\
 mAP@0.1  mAP@0.2  mAP@0.3  mAP@0.4  mAP@0.5  Average
   44.67    44.67    42.79    42.79    40.67    43.12
""",
    "activitynet": """\
 mAP@0.50  mAP@0.75  mAP@0.95  Average-mAP
    42.96      9.96      0.02        17.94
""",
    "ava": """\
 class                  AP
 sit                 87.51
 stand               92.10
 talk to             62.40
 watch (a person)    58.36
 mean                75.09
""",
    "luna16": """\
   0.125     0.25      0.5        1        2        4        8      CPM
   0.419    0.446    0.527    0.595    0.655    0.662    0.662    0.567
""",
    "ultralytics": """\
 Class           Images  Instances        P        R    mAP50  mAP50-95
 all                300       2400    0.707    0.436    0.426     0.250
 pedestrian         214        596    0.753    0.364    0.382     0.204
 rider               92        118    0.696    0.407    0.381     0.230
 worker              45         53    0.631    0.419    0.418     0.244
 car                225        704    0.752    0.493    0.492     0.279
 van                 99        124    0.721    0.516    0.502     0.314
 truck               69         89    0.746    0.596    0.582     0.388
 bus                 43         56    0.822    0.625    0.593     0.365
 bicycle            113        162    0.739    0.463    0.456     0.273
 motorcycle          77        103    0.666    0.476    0.452     0.244
 scooter             41         43    0.740    0.419    0.394     0.211
 traffic light       99        139    0.579    0.216    0.226     0.114
 traffic sign       135        213    0.637    0.235    0.239     0.129
""",
}


def cells(text: str) -> list[list[str]]:
    """What stands in each row of tables: aligned ones, or in Markdown."""
    rows = [line for line in text.splitlines() if line and not re.fullmatch(r"[|:-]+", line)]
    return [re.split(r" *\| *|  +", row.strip(" |")) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_printed(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("eval", *SAMPLES[name], "--protocol", name)
    assert command(capsys, monkeypatch, *arguments)[:2] == (0, TABLES[name])
    _, marked_up, _ = command(capsys, monkeypatch, *arguments, "--markdown")
    assert cells(marked_up) == cells(TABLES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_printed_within_80_columns(name: str) -> None:
    """In blocks if necessary, which repeat the labels and have the same numbers."""
    ev = apf.evaluate(*SAMPLES[name], name)
    narrow, wide = kit_lines(ev, width=80), kit_lines(ev)
    n_tables = len(ev.protocol.tables)
    assert max(len(line) for line in narrow[: len(narrow) - len(ev.notes)] if "leaves" not in line) <= 80
    if name == "bdd100k":
        assert (len(narrow), narrow.count("")) == (2 * len(wide) + 1, 1)
        assert narrow[1].split() + narrow[13].split()[1:] == wide[1].split()
    else:
        assert (narrow, narrow.count("")) == (wide, n_tables - 1)
