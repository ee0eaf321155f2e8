"""Every recorded session of every kind, request by request through one engine, at four policies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import takewhile

import pytest

from tests.conformance.test_recordings import UNKNOWN_FORMATS, files, recordings
from tests.conformance.test_sessions import chat
from trimtab import Call, Engine, Policy, PrefixBroken, UnknownFormatError
from trimtab.economy import window_of
from trimtab.plan import Fold
from trimtab.policy import TRIGGER_TOKENS
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.session import Rewrite, Turn
from trimtab.wire import FORMATS, check, read
from trimtab.wire.rules import Problem

POLICIES = {
    "8k": Policy(limit_tokens=8_000),
    "20k": Policy(limit_tokens=20_000),
    "60k": Policy(limit_tokens=60_000),
    "default": Policy(),
}

_UNKNOWN_WINDOW_TOKENS = 128_000
"""The limit where the policy leaves it to the model, and nobody knows the model's window."""

_CACHE_SECONDS = 300
"""After so long a pause the provider's cache is lost, and half the trigger counts."""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", files(), ids=str)
def test_every_session_of_a_file_goes_through(name: str, policy: str) -> None:
    """Each request no worse than it came, within its limit or with numbers, extending the others."""
    for recording in recordings(name):
        replay(recording, POLICIES[policy])


@pytest.mark.parametrize("policy", POLICIES)
def test_every_session_goes_through_as_a_list_of_chat_messages(policy: str) -> None:
    """The same where nothing but the messages is known."""
    for recording in chat().values():
        replay(recording, POLICIES[policy])


@pytest.mark.parametrize("name", files(), ids=str)
def test_only_formats_that_are_not_spoken_are_refused(name: str) -> None:
    """A request of such a format is refused by its name."""
    for recording in recordings(name):
        for recorded in recording.requests:
            if not is_spoken(recorded):
                assert recorded.format in UNKNOWN_FORMATS
                with pytest.raises(UnknownFormatError, match=recorded.format):
                    Engine().session.read(Call(recorded.build()), recorded.format)


# ------------------------------------------------------------------ replaying


def replay(recording: Recording, policy: Policy) -> None:
    """Run a session through an engine, and look at every request."""
    run = Run(Engine(with_limit(policy, recording)))
    for recorded in filter(is_spoken, recording.requests):
        run.send(recorded)


def with_limit(policy: Policy, recording: Recording) -> Policy:
    """A policy that has a limit, whatever model a request names."""
    models = {request.model for request in recording.requests}
    if policy.limit_tokens is None and any(window_of(model) is None for model in models):
        return Policy(limit_tokens=_UNKNOWN_WINDOW_TOKENS)
    return policy


def is_spoken(recorded: RecordedRequest) -> bool:
    """Whether a request is of a format that we speak; an empty one is told from the content."""
    return recorded.format in {"", *(wire_format.name for wire_format in FORMATS)}


@dataclass(frozen=True)
class Sent:
    """What was sent for a history, as far as the provider's cache keys on it, in digests.

    Attributes:
        surface: Model, system prompt and tools.
        messages: The canonical forms of its messages, oldest first.
    """

    surface: bytes
    messages: list[bytes]


@dataclass
class Run:
    """A session on its way through an engine.

    Attributes:
        engine: What rewrites its requests.
        sent: What was sent for each history, by the digest of the history as it came.
        turns: Requests that were sent.
    """

    engine: Engine
    sent: dict[bytes, Sent] = field(default_factory=dict)
    turns: int = 0

    def send(self, recorded: RecordedRequest) -> None:
        """Send a request and look at what goes out."""
        call = Call(recorded.build(), model=recorded.model, now=recorded.at or 0.0)
        turn = self.engine.session.read(call, recorded.format or None)

        rewrite = self.engine.sync.rewrite(turn)

        assert_no_worse(rewrite, recorded)
        assert_fits_or_says_why(rewrite)
        assert_untouched_is_identical(rewrite)
        self.assert_counted(rewrite)
        self.assert_extends(rewrite)
        if recorded.usage is None or rewrite.plan or recorded.unrecorded:
            self.engine.sync.forwarded(rewrite.ticket)
        else:
            self.engine.sync.observed(rewrite.ticket, recorded.usage)

    def assert_counted(self, rewrite: Rewrite) -> None:
        """What goes out weighs what is said of it.

        Where the plan is new, and one turn in eight: what is counted wrong stays wrong.
        """
        self.turns += 1
        began = rewrite.ticket.began
        is_new = began is None or rewrite.plan != began.plan
        if rewrite.plan and (is_new or self.turns % 8 == 0):
            turn, session = rewrite.ticket.turn, self.engine.session
            call = Call(rewrite.body, model=turn.call.model)
            again = session.read(call, turn.request.format.name)
            counted = session.weigh(again).total_tokens
            becomes = rewrite.ticket.becomes
            assert becomes.surface.tokens + becomes.view_tokens == counted
            if rewrite.quality != "calibrated":  # else it is told as it will be billed
                assert rewrite.outcome.tokens_after == counted

    def assert_extends(self, rewrite: Rewrite) -> None:
        """What was sent for the part that is known goes out again, or it is told why not."""
        turn = rewrite.ticket.turn
        came = [digest(form) for form in turn.request.forms()]
        links = chain(turn.request.format.name, came)
        now = what_is_sent(rewrite, came)
        known = next(
            (place for place in reversed(range(len(links))) if links[place] in self.sent), 0
        )
        before = self.sent.get(links[known])
        if before is not None and not causes(rewrite):
            assert now.messages[: len(before.messages)] == before.messages
            assert now.surface == before.surface
        for place in range(len(came) - untouched_tail(came, now.messages), len(links)):
            if place > known or place == len(came):
                stop = len(now.messages) - (len(came) - place) - made_before(rewrite, place)
                self.sent[links[place]] = Sent(now.surface, now.messages[:stop])


def assert_no_worse(rewrite: Rewrite, recorded: RecordedRequest) -> None:
    """No rule is broken more often than by what came in."""
    request = rewrite.ticket.turn.request
    if rewrite.body is request.body:
        return
    problems = check(rewrite.body, request.format.name, unrecorded=recorded.unrecorded)
    if problems:
        came = check(request.body, request.format.name, unrecorded=recorded.unrecorded)
        assert rules(problems) <= rules(came)


def assert_fits_or_says_why(rewrite: Rewrite) -> None:
    """Within the limit, or why it is not, in numbers."""
    outcome = rewrite.outcome
    assert outcome.fits == (outcome.status in ("untouched", "fits"))
    assert not (outcome.status == "untouched" and rewrite.plan)
    if not outcome.fits:
        assert outcome.limit_tokens < outcome.needed_tokens <= outcome.tokens_after
        assert outcome.reason


def assert_untouched_is_identical(rewrite: Rewrite) -> None:
    """Without an edit the very body goes out; below the trigger only what is broken is edited."""
    request, began = rewrite.ticket.turn.request, rewrite.ticket.began
    if not rewrite.plan:
        assert rewrite.body is request.body
    elif (began is None or not began.plan) and rewrite.outcome.tokens_before <= trigger(rewrite):
        assert check(request.body, request.format.name) != ()


def trigger(rewrite: Rewrite) -> int:
    """The size from which on a request may be made smaller."""
    began, now = rewrite.ticket.began, rewrite.ticket.turn.call.now
    size = min(rewrite.outcome.limit_tokens, TRIGGER_TOKENS)
    is_late = began is not None and bool(now and began.at) and now - began.at > _CACHE_SECONDS
    return size // 2 if is_late or causes(rewrite) & {"model_changed", "tools_changed"} else size


def rules(problems: Iterable[Problem]) -> Counter[tuple[str, bool]]:
    """How often each rule is broken, or not shown to hold."""
    return Counter((problem.rule, problem.is_unrecorded) for problem in problems)


def causes(rewrite: Rewrite) -> set[str]:
    """Why what was sent before is not sent again, as far as that is told."""
    return {event.cause for event in rewrite.events if isinstance(event, PrefixBroken)}


def what_is_sent(rewrite: Rewrite, came: list[bytes]) -> Sent:
    """Digest what goes out; the address names the model where the body does not."""
    turn: Turn = rewrite.ticket.turn
    is_same = rewrite.body is turn.request.body
    request = turn.request if is_same else read(rewrite.body, turn.request.format.name)
    forms = request.format.surface_forms(request.members)
    model = request.model or turn.call.model
    surface = digest(b"\0".join((model.encode(), forms.system, forms.tools)))
    return Sent(surface, came if is_same else [digest(form) for form in request.forms()])


def made_before(rewrite: Rewrite, place: int) -> int:
    """How many messages that we made stand between a message and the one before it."""
    folds = [edit for edit in rewrite.plan if isinstance(edit, Fold)]
    return sum(fold.before == place and fold.joins is None for fold in folds)


def untouched_tail(came: list[bytes], sent: list[bytes]) -> int:
    """How many of the newest messages go out as they came."""
    pairs: Iterator[tuple[bytes, bytes]] = zip(reversed(came), reversed(sent), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def chain(wire_format: str, messages: Iterable[bytes]) -> list[bytes]:
    """A digest of each beginning of a history, the empty one first."""
    links = [digest(wire_format.encode())]
    for message in messages:
        links.append(digest(links[-1] + message))
    return links


def digest(value: bytes | memoryview) -> bytes:
    """A short name for some bytes."""
    return blake2b(value, digest_size=16).digest()
