"""Law 3: what was sent once is sent again byte for byte, until a declared break.

Laws 1, 2 and 4 are held along the way: every request of a long conversation is
accepted, fits or says why not, and keeps the bytes of what no edit names.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.laws.agents import (
    Agent,
    Branch,
    GeminiAgent,
    ResponsesAgent,
    forms_of,
    signatures_that_fit,
)
from tests.laws.conversations import history_of
from tests.laws.summaries import ANSWERS, ScriptedMaker
from trimtab import (
    CharTokenCounter,
    Engine,
    Policy,
    PrefixBroken,
    Refusal,
    Rewrite,
    Session,
    Usage,
    in_memory,
)
from trimtab.briefing import is_briefing
from trimtab.messages import ToolResult
from trimtab.plan import Changes, Replace
from trimtab.policy import Preset
from trimtab.squeeze import pointed
from trimtab.state import State
from trimtab.wire import Call, read, write

LIMIT = 1200
"""Small, so that a conversation of a few turns is over it."""

AGENTS: dict[str, Callable[[], Agent]] = {
    "anthropic": lambda: Agent("anthropic", "claude-opus-4-5"),
    "anthropic thinking": lambda: Agent("anthropic", "claude-opus-4-6", thinks=True),
    "anthropic bound": lambda: Agent("anthropic", "claude-opus-5-5", thinks=True),
    "openai-chat": lambda: Agent("openai-chat", "gpt-5.2"),
    "openai-responses": lambda: ResponsesAgent("openai-responses", "gpt-5.2"),
    "openai-responses thinking": lambda: ResponsesAgent("openai-responses", "gpt-5.2", thinks=True),
    "gemini": lambda: GeminiAgent("gemini", "gemini-3.1-pro"),
    "gemini with ids": lambda: GeminiAgent("gemini", "gemini-3.1-pro", has_ids=True),
}

WORDS = st.sampled_from(["go on", "now the tests, please", "naïve 日本語", "no\n\nreally"])
ROWS = json.dumps([{"id": n, "name": f"file-{n}.py", "is_open": n % 2 == 0} for n in range(12)])
TEXTS = {
    "short": "ok",
    "lines": "line\n" * 40,
    "blob": "x" * 900,
    "words": "as many words " * 80,
    "rows": ROWS,
    "spread": json.dumps({"files": ["a.py", "b.py"], "count": 2}, indent=4),
    "log": "".join(f"12:00:{n:02d} INFO worker {n} took {n * 7} ms\n" for n in range(30)),
    "colours": "\x1b[32mpassed\x1b[0m\n\x1b[31mfailed\x1b[0m\n" * 3,
}
"""What tools answer, by a name that a failing script can be read with."""
RESULTS = st.lists(st.sampled_from(list(TEXTS)), min_size=1, max_size=3)
PRESETS: st.SearchStrategy[Preset | None] = st.sampled_from([None, "off", "safe", "agent"])
MARKED = st.sampled_from([None, 0, 0, 2])


class Conversation(RuleBasedStateMachine):
    """Lines of conversations through one engine, each request checked."""

    make_agent: Callable[[], Agent] = AGENTS["openai-chat"]
    make_engine: Callable[[Policy, ScriptedMaker], Any] = staticmethod(
        lambda policy, maker: Engine(policy, in_memory(), CharTokenCounter(), summaries=maker).sync
    )

    def __init__(self) -> None:
        super().__init__()
        self.agent = type(self).make_agent()
        self.limit = LIMIT
        self.preset: Preset | None = None
        self.has_summaries = False
        self.maker = ScriptedMaker()
        self.engine = type(self).make_engine(self.policy(), self.maker)
        self.branches: list[Branch] = []
        self.clock = 1000.0
        self.share: float | None = None
        self.allowed: set[str] = set()  # causes of breaks on this turn
        self.ever: set[str] = set()  # causes from now on

    def policy(self) -> Policy:
        """The settings of the moment."""
        return Policy(limit_tokens=self.limit, preset=self.preset, summaries=self.has_summaries)

    def rewriter(self) -> Session:
        """The session in the engine."""
        session: Session = self.engine.engine.session
        return session

    @initialize(
        words=WORDS,
        share=st.sampled_from([None, 0.7, 1.0, 1.6]),
        preset=PRESETS,
        has_summaries=st.booleans(),
    )
    def begin(
        self, words: str, share: float | None, preset: Preset | None, has_summaries: Any
    ) -> None:
        """A conversation begins, with a provider that bills so much of what is counted, or is silent."""
        self.share = share
        self.has_summaries = has_summaries
        self.change_preset(preset)
        self.branches.append(self.agent.start(words))
        self.send(self.branches[0], None)

    def pick(self, number: int) -> Branch:
        """One of the lines."""
        return self.branches[number % len(self.branches)]

    # --------------------------------------------------------------- rules

    @rule(line=st.integers(0, 3), words=WORDS, marked=MARKED)
    def talk(self, line: int, words: str, marked: int | None) -> None:
        """The model answers, the user goes on."""
        branch = self.pick(line)
        self.agent.answer(branch, words)
        branch.history.append(self.agent.user(words))
        self.send(branch, marked)

    @rule(line=st.integers(0, 3), words=WORDS, results=RESULTS, marked=MARKED)
    def work(self, line: int, words: str, results: list[str], marked: int | None) -> None:
        """The model calls tools."""
        branch = self.pick(line)
        self.agent.step(branch, words, [TEXTS[result] for result in results])
        self.send(branch, marked)

    @rule(line=st.integers(0, 3), results=RESULTS, marked=MARKED)
    def work_on(self, line: int, results: list[str], marked: int | None) -> None:
        """Twice as likely as the rest: this is what agents do."""
        self.work(line, "next", results, marked)

    @rule(line=st.integers(0, 3), words=WORDS)
    def interrupt(self, line: int, words: str) -> None:
        """The user goes on before a tool has answered."""
        branch = self.pick(line)
        self.agent.step(branch, "wait", ["never"], answered=False)
        branch.history.append(self.agent.user(words))
        self.send(branch, None)

    @rule(line=st.integers(0, 3), words=WORDS, turns=st.integers(0, 2))
    def answer_late(self, line: int, words: str, turns: int) -> None:
        """A result comes when the conversation has gone on without it."""
        self.interrupt(line, words)
        branch = self.pick(line)
        late = self.agent.late_result()
        for _ in range(turns):
            self.talk(line, words, None)
        branch.history.append(late)
        self.agent.answer(branch, "thanks")
        branch.history.append(self.agent.user(words))
        self.ever.add("repaired")
        self.send(branch, None)

    @rule(line=st.integers(0, 3), marked=MARKED)
    def retry(self, line: int, marked: int | None) -> None:
        """The very same messages once more."""
        self.send(self.pick(line), marked)

    @precondition(lambda self: len(self.branches) < 4)
    @rule(line=st.integers(0, 3), words=WORDS)
    def fork(self, line: int, words: str) -> None:
        """A second line from where one is."""
        old = self.pick(line)
        branch = old.copy(len(old.history))
        self.branches.append(branch)
        self.agent.answer(branch, words)
        branch.history.append(self.agent.user("another way"))
        self.send(branch, None)

    @rule(line=st.integers(0, 3), turns=st.integers(1, 8), words=WORDS)
    def rewind(self, line: int, turns: int, words: str) -> None:
        """The user goes back and says something else."""
        branch = self.pick(line)
        starts = [
            place for place, message in enumerate(branch.history) if self.agent.is_words(message)
        ]
        place = starts[-min(turns, len(starts))]
        del branch.history[place:]
        branch.history.append(self.agent.user(f"{words} (again)"))
        branch.sent = None  # what was sent up to there is not kept here
        self.send(branch, None)

    @rule(line=st.integers(0, 3), place=st.integers(0, 400))
    def shorten(self, line: int, place: int) -> None:
        """The client clears old results."""
        branch = self.pick(line)
        place %= len(branch.history)
        if self.agent.shorten(branch, place):
            self.ever.add("client_edited")
            if not any(map(self.agent.is_answer, branch.history[place:])):
                branch.sent = None  # another newest result is another way to go on: a fork
            self.agent.answer(branch, "cleared")
            branch.history.append(self.agent.user("go on"))
            self.send(branch, None)

    @rule(line=st.integers(0, 3), what=st.sampled_from(["model", "tools", "system"]))
    def change_surface(self, line: int, what: str) -> None:
        """The client changes what stands before all messages."""
        branch = self.pick(line)
        branch.is_bound = False
        if what == "model":
            others = {"claude-opus-4-5": "claude-sonnet-4-5", "gpt-5.2": "gpt-5.1"}
            others["gemini-3.1-pro"] = "gemini-3.5-flash"
            branch.model = others.get(branch.model, self.agent.model)
        elif what == "tools":
            branch.tools = ("read", "run", "grep") if len(branch.tools) == 2 else ("read", "run")
        else:
            branch.system = "Be quick." if branch.system == "Be careful." else "Be careful."
        # Lines that have messages in common are one conversation: each breaks the other's cache.
        self.ever |= {f"{what}_changed", "client_edited"}
        if what == "system" and self.agent.system_is_message:
            branch.sent = None  # it is a message there, so nothing before it is the same
        self.agent.answer(branch, "changed")
        branch.history.append(self.agent.user("go on"))
        self.send(branch, None)

    @rule(factor=st.sampled_from([0.6, 1.0, 3.0]))
    def change_budget(self, factor: float) -> None:
        """The user sets another limit."""
        self.limit = int(LIMIT * factor)
        self.ever.add("budget_raised")
        self.rewriter().policy = self.policy()

    @rule(preset=PRESETS)
    def change_preset(self, preset: Preset | None) -> None:
        """The user sets another preset: what was sent stays as it was."""
        self.preset = preset
        self.rewriter().policy = self.policy()

    @rule(name=st.sampled_from(["good", "good", "good", *ANSWERS]))
    def answer_summary(self, name: str) -> None:
        """A model has summed up the older part, well or badly."""
        self.maker.answer(name)

    @rule()
    def fail_summary(self) -> None:
        """It raises, hangs, or is gone."""
        self.maker.fail()

    @rule(seconds=st.sampled_from([10.0, 600.0, 4_000.0]))
    def wait(self, seconds: float) -> None:
        """Time passes; after a while the provider's cache is cold."""
        self.clock += seconds

    @rule(
        line=st.integers(0, 3),
        results=RESULTS,
        kind=st.sampled_from(["overflow", "structure", "signature", "rate limit"]),
    )
    def refuse(self, line: int, results: list[str], kind: Any) -> None:
        """The provider refuses a request, and the engine may try another form."""
        branch = self.pick(line)
        count = len(branch.history)
        self.agent.step(branch, "next", [TEXTS[result] for result in results])
        rewrite = self.ask(branch, None)
        again = self.engine.refused(rewrite.ticket, Refusal(kind=kind))
        if again is None:
            del branch.history[count:]  # nobody has answered, so nobody goes on
            return
        self.allowed |= {"refused", "compaction"}
        branch.is_mended &= kind == "overflow"  # mending may be what was refused
        self.look_at(branch, self.agent.body(branch), again)
        if kind == "overflow":
            assert again.outcome.tokens_after < rewrite.outcome.tokens_after
        else:
            assert again.body != rewrite.body
        assert self.engine.refused(again.ticket, Refusal(kind=kind)) is None
        self.take(branch, again)

    @invariant()
    def the_store_keeps_its_caps(self) -> None:
        """However long it goes on."""
        store = self.engine.engine.store
        assert store.size_bytes <= store.max_bytes

    # --------------------------------------------------------------- laws

    def send(self, branch: Branch, marked: int | None) -> None:
        """Send a line, and look at everything."""
        rewrite = self.ask(branch, marked)
        self.take(branch, rewrite)

    def ask(self, branch: Branch, marked: int | None) -> Rewrite:
        """Have a line rewritten, and look at what comes of it."""
        self.clock += 1
        body = self.agent.body(branch, marked)
        call = Call(body, model=branch.model, now=self.clock)
        rewrite: Rewrite = self.engine.rewrite(call, self.agent.format)
        self.look_at(branch, body, rewrite)
        return rewrite

    def take(self, branch: Branch, rewrite: Rewrite) -> None:
        """The provider takes it."""
        if self.share is None:
            self.engine.forwarded(rewrite.ticket)
        else:
            becomes = rewrite.ticket.becomes
            counted = becomes.surface.tokens + becomes.view_tokens
            self.engine.observed(
                rewrite.ticket, Usage(fresh=round(counted * self.share), output=20)
            )
        branch.sent = forms_of(rewrite.body)
        self.allowed.clear()

    def look_at(self, branch: Branch, body: bytes, rewrite: Rewrite) -> None:
        """Hold laws 1 to 4."""
        sent, outcome = forms_of(rewrite.body), rewrite.outcome
        broken = self.agent.broken_rules(rewrite.body)
        if not branch.is_mended:
            assert set(broken) <= set(self.agent.broken_rules(body))
        else:
            assert broken == []  # a broken history is mended
        assert outcome.tokens_after <= outcome.limit_tokens or outcome.status in (
            "unmet",
            "unsatisfiable",
        )
        assert rewrite.plan or rewrite.body is rewrite.ticket.turn.call.body
        untouched = set(map(str, forms_of(body)))
        made = [form for form in sent if form not in untouched]
        assert len(made) <= len(rewrite.plan.edits)
        causes = {event.cause for event in rewrite.events if isinstance(event, PrefixBroken)}
        allowed = self.allowed | self.ever
        if outcome.tokens_before > outcome.limit_tokens * 0.2:
            allowed.add("compaction")
        if "client_edited" in causes:
            allowed.add("repaired")  # what it changed may be what was mended
        assert causes <= allowed
        if branch.sent is not None and not causes:
            assert sent[: len(branch.sent)] == branch.sent
        self.look_at_signatures(branch, rewrite)
        assert dangling(rewrite) == []
        assert sum(map(is_briefing, read(rewrite.body, self.agent.format).messages)) <= 1

    def look_at_signatures(self, branch: Branch, rewrite: Rewrite) -> None:
        """On models that bind thinking, none goes out behind what it was not signed for, or it is said."""
        if not branch.is_bound or "5-5" not in branch.model:
            return
        _, unfit = signatures_that_fit(rewrite.body)
        if unfit:
            assert b'"prefix_mismatch_behavior":"drop_block"' in rewrite.body
            assert "thinking-binding-controls" in rewrite.headers["anthropic-beta"]

    def teardown(self) -> None:
        """What is known outlives the process."""
        for branch in self.branches:
            state = self.rewriter().forwarded(self.ask(branch, None).ticket)
            assert State.from_bytes(state.to_bytes(), state.forms()) == state


SETTINGS = settings(
    max_examples=3,
    phases=[Phase.generate],  # scripts of 200 turns take hours to be made shorter
    stateful_step_count=200,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("name", AGENTS)
def test_what_was_sent_is_sent_again(name: str) -> None:
    """Over scripts of 200 turns: byte for byte, but for declared breaks with an allowed cause."""
    machine = type("Machine", (Conversation,), {"make_agent": staticmethod(AGENTS[name])})

    run_state_machine_as_test(machine, settings=SETTINGS)


class Forgetful:
    """A fault: every request is rewritten as if nothing was known of it."""

    def __init__(self, policy: Policy, maker: ScriptedMaker) -> None:
        self.sync = Engine(policy, in_memory(), CharTokenCounter(), summaries=maker).sync
        self.engine = self.sync.engine

    def rewrite(self, call: Call, format: str) -> Rewrite:  # noqa: A002 - the word for it
        """Without the state."""
        session = self.engine.session
        return session.rewrite(session.read(call, format))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sync, name)


class Reordering(Forgetful):
    """A fault: what is edited is parsed and written again, its keys in another order."""

    def rewrite(self, call: Call, format: str) -> Rewrite:  # noqa: A002 - the word for it
        """The right plan, badly written every other time."""
        rewrite = self.sync.rewrite(call, format)
        value = json.loads(rewrite.body)
        history = history_of(value)
        if len(history) % 2 and rewrite.plan:
            history[:] = [dict(sorted(message.items())) for message in history]
        return replace(rewrite, body=json.dumps(value, ensure_ascii=False).encode())


@pytest.mark.parametrize("fault", [Forgetful, Reordering])
@pytest.mark.parametrize("name", ["anthropic", "openai-chat"])
def test_the_law_catches_a_planted_fault(fault: Any, name: str) -> None:
    """Each breaks the prefix without saying so."""
    machine = type(
        "Machine",
        (Conversation,),
        {"make_agent": staticmethod(AGENTS[name]), "make_engine": staticmethod(fault)},
    )

    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            machine, settings=settings(SETTINGS, phases=[Phase.generate], max_examples=20)
        )


def dangling(rewrite: Rewrite) -> list[str]:
    """Calls that a reference in a request points to, and whose words are not in it in full."""
    messages = rewrite.ticket.turn.request.messages
    came = {
        part.call_id: (place, number, part)
        for place, message in reversed(list(enumerate(messages)))
        for number, part in enumerate(message.parts)
        if isinstance(part, ToolResult)
    }
    changes = Changes(rewrite.plan)
    births = {
        (edit.message, edit.part): edit.new
        for edit in rewrite.plan
        if isinstance(edit, Replace) and edit.is_birth
    }
    found = []
    for place, parts in changes.replaced.items():
        for number, new in parts.items():
            is_sent = place not in changes.gone and number not in changes.dropped.get(place, ())
            call_id = pointed(new) if isinstance(new, ToolResult) and is_sent else None
            if call_id is None:
                continue
            where, which, target = came.get(call_id, (-1, -1, None))
            sent = changes.replaced.get(where, {}).get(which)
            is_full = sent is None or sent == births.get((where, which))
            between = messages[max(where, 0) : place]
            if not any(message.role == "assistant" for message in between):
                is_full = True  # of one exchange: it was clipped because nothing else was left
            old = messages[place].parts[number]
            if (
                target is None
                or not is_full
                or where in changes.gone
                or which in changes.dropped.get(where, ())
                or not isinstance(old, ToolResult)
                or target.content != old.content
            ):
                found.append(call_id)
    return found


def test_writing_a_plan_again_gives_the_same_bytes() -> None:
    """A plan and the request that it is for are all that a body depends on."""
    agent = AGENTS["anthropic"]()
    branch = agent.start("go")
    for _ in range(30):
        agent.step(branch, "next", ["line\n" * 40])
    engine = Engine(Policy(limit_tokens=LIMIT), in_memory(), CharTokenCounter()).sync
    rewrite = engine.rewrite(Call(agent.body(branch)), agent.format)

    assert rewrite.plan
    assert write(read(agent.body(branch), agent.format), rewrite.plan) == rewrite.body
