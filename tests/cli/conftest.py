"""What every test of the command line needs: the same screen everywhere, and a way to run commands."""

from __future__ import annotations

import pytest

from tests.cli.running import Trimtab


@pytest.fixture(autouse=True)
def _screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns, whatever terminal the tests run on."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def trimtab(capsys: pytest.CaptureFixture[str]) -> Trimtab:
    """Runs a command in this process and says what it came to."""
    return Trimtab(capsys)
