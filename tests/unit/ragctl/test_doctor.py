"""The doctor's checks that need no index and no network."""

from importlib.metadata import version
from pathlib import Path

import pytest

from rag.config.settings import Settings, load
from ragctl.doctor import CheckFailed, check_llm, check_packages, check_python


def test_an_old_python_is_told_what_is_needed() -> None:
    with pytest.raises(CheckFailed, match=r"3\.11\.9: 3\.12 or newer is needed"):
        check_python((3, 11, 9))
    assert check_python((3, 12, 0)).startswith("3.12.0 ")


def test_packages_are_compared_with_their_pins(tmp_path: Path) -> None:
    pins = tmp_path / "tools.txt"
    rich = f"rich=={version('rich')} \\\n    --hash=sha256:00\n"
    other_system = "nothing==1.0 ; sys_platform == 'none' \\\n    --hash=sha256:00\n"

    pins.write_text(rich + other_system)
    assert check_packages(pins) == "1 as pinned"

    pins.write_text(rich + "typer==0.0.1 \\\n    --hash=sha256:00\nno-such-package==1.0\n")
    with pytest.raises(CheckFailed) as failed:
        check_packages(pins)
    installed = version("typer")
    assert f"typer is {installed} instead of ==0.0.1; no-such-package is missing. Run: " in str(failed.value)


def test_an_installed_package_is_compared_with_its_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {"serverless-rag": [f"rich=={version('rich')}", "typer==0.0.1"]}
    monkeypatch.setattr("ragctl.doctor.metadata.requires", needs.get)
    with pytest.raises(CheckFailed, match=r"^typer is \S+ instead of ==0\.0\.1\. Install serverless-rag anew"):
        check_packages(tmp_path / "tools.txt")


def test_every_pin_of_the_repository_is_understood() -> None:
    lines = (Path(__file__).parents[3] / "requirements" / "tools.txt").read_text().splitlines()
    pins = sum("==" in line and not line.startswith((" ", "#")) for line in lines)
    assert 50 < int(check_packages().split()[0]) <= pins


def test_without_an_llm_nothing_is_called() -> None:
    assert check_llm(load(Settings, {})) == "not configured: the extractive engine answers"
