"""The report in a real browser, where one is at hand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.replay.report.told import ORIGIN, long_session, session
from trimtab.replay.report.page import report

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_draws_every_chart_without_an_error(tmp_path: Path, scheme: str) -> None:
    """No message on its console, nothing blocked, one canvas a chart; of one turn and of many."""
    sessions = [
        long_session(),
        long_session("one turn.jsonl", 1),
        long_session("no prices.jsonl", is_money=False),
        session("no turns.jsonl"),
    ]
    file = tmp_path / "report.html"
    file.write_text(report(sessions, ORIGIN), "utf-8")
    assert BROWSER is not None
    shown = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--window-size=1280,12000",
            f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}",
            "--enable-logging=stderr",
            "--virtual-time-budget=5000",
            "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert [line for line in shown.stderr.splitlines() if "CONSOLE" in line] == []
    assert shown.stdout.count("data-chart=") == 9
    assert shown.stdout.count("<canvas") == 9
