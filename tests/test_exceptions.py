"""Errors: what they say of packages that cannot be imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from apframe.exceptions import ParameterError, import_optional


def test_a_package_that_is_missing_is_to_be_installed() -> None:
    with pytest.raises(ParameterError, match=r"^rotated boxes need nowhere: pip install nowhere$"):
        import_optional("nowhere.at_all", "rotated boxes need nowhere", "nowhere")


@pytest.mark.parametrize("failure", ["ImportError('for NumPy 1')", "ModuleNotFoundError('for NumPy 1', name='numpy.core')"])
def test_a_package_that_is_broken_is_not_reported_as_missing(
    failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_shapes.py").write_text(f"raise {failure}\n")
    monkeypatch.syspath_prepend(tmp_path)
    message = r"^shapes need it, which is installed but cannot be imported \(for NumPy 1\); upgrade it: pip install"
    with pytest.raises(ParameterError, match=message):
        import_optional("broken_shapes", "shapes need it", "broken-shapes")
