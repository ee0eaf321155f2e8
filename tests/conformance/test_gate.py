"""Law 7 on every recorded session: never dearer."""

from __future__ import annotations

import os
from functools import cache

from tests.conformance.shared import SHARED
from trimtab.replay.crew import Settings, replay_files
from trimtab.replay.gate import Verdict, judge
from trimtab.replay.paths import files_in
from trimtab.replay.policies import DEFAULT
from trimtab.replay.results import SessionResult

_KINDS = (
    "claude_code", "codex", "opencode", "pi", "gemini_cli", "mini_swe", "trae", "litellm_log",
)  # fmt: skip
"""Those whose sessions tell what was billed."""

_LEAST_SAVED = 0.15


@cache
def results() -> tuple[SessionResult, ...]:
    """Every session under the policies of law 7."""
    found = files_in([SHARED / "data" / kind for kind in _KINDS])
    each = replay_files(found, Settings(), workers=os.cpu_count() or 1)
    return tuple(session.result for file in each for session in file.sessions)


@cache
def verdict() -> Verdict:
    """What they say."""
    return judge(results())


def test_the_default_policy_is_never_dearer() -> None:
    """Lower in all; in no session more than 2 % above the cheaper of doing nothing and the client."""
    assert verdict().broken == ()
    assert verdict().past_trigger >= 5
    assert verdict().worst >= -0.02


def test_past_the_trigger_it_saves_a_seventh_of_the_bill() -> None:
    """At least 15 %, at three extra exchanges for each compaction."""
    saved = verdict().saved_past_trigger
    assert saved is not None
    assert saved >= _LEAST_SAVED


def test_below_the_trigger_nothing_is_changed() -> None:
    """A session that is never compacted goes out as it came, unless it came broken."""
    small = [each.policies[DEFAULT] for each in results() if not each.passes_trigger]

    assert len(small) >= 10
    assert [each.changed for each in small if not (each.compactions or each.repairs)] == [
        0 for each in small if not (each.compactions or each.repairs)
    ]


def test_no_request_is_made_invalid() -> None:
    """Whatever it costs."""
    assert [each.name for each in results() if each.policies[DEFAULT].made_invalid] == []
