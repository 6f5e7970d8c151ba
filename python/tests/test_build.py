"""The wheel's build hook. `make venv` installs with it, and so every test here runs what it built."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

PYTHON = Path(__file__).parents[1]


def hook(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(PYTHON))
    sys.modules.pop("hatch_build", None)
    import hatch_build

    return hatch_build.GoBuildHook(str(root), {}, None, SimpleNamespace(version="1.2.3"), "", "wheel")


def test_says_when_go_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"no 'go' on the PATH: install Go 1\.25 or newer"):
        hook(PYTHON, monkeypatch).initialize("standard", {})


def test_says_when_the_go_module_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="install from a checkout of the whole repository"):
        hook(tmp_path / "python", monkeypatch).initialize("standard", {})
