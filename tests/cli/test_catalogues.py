"""`apframe formats` and `apframe protocols`."""

from __future__ import annotations

import json
import re

import pytest

import apframe as apf
from tests.cli.test_command import command

Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch


def test_formats_are_listed(capsys: Capture, monkeypatch: Patch) -> None:
    code, out, _ = command(capsys, monkeypatch, "formats")
    assert code == 0 and re.search(r"^coco +COCO JSON", out, re.MULTILINE)
    code, out, _ = command(capsys, monkeypatch, "formats", "--json")
    assert (code, json.loads(out)) == (0, apf.list_formats().to_dicts())
    assert "title    YOLO text\n" in command(capsys, monkeypatch, "formats", "YOLO")[1]


def test_protocols_are_listed_and_one_is_its_rules(capsys: Capture, monkeypatch: Patch) -> None:
    code, out, _ = command(capsys, monkeypatch, "protocols")
    assert code == 0 and all(name.lower() in out for name in apf.PUBLISHED)
    code, out, _ = command(capsys, monkeypatch, "protocols", "voc-2007")
    assert (code, out) == (0, f"{apf.VOC2007}\n")
    assert json.loads(command(capsys, monkeypatch, "protocols", "dota", "--json")[1])[0]["iou_types"] == "rotated"
    code, _, err = command(capsys, monkeypatch, "protocols", "voc2008")
    assert (code, err) == (2, "error: no protocol 'voc2008'; did you mean voc2007, voc2012?\n")
