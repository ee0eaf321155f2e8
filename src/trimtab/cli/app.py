"""The commands and their options; each command is a file beside this one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from cyclopts import App, CycloptsError, Parameter
from cyclopts.validators import Number

from trimtab.cli import check, compact, doctor, forecast, inspect, mcp, recall, replay, store
from trimtab.cli.source import STDIN
from trimtab.cli.talk import FINE, INTERRUPTED, NOT_FINE, USAGE, UsageError, complain
from trimtab.errors import MalformedBodyError, TrimtabError
from trimtab.policy import StrategyName

__all__ = ["run"]

app = App(
    name="trimtab",
    help=(
        "Keep a long agent conversation inside its model's context window.\n\n"
        "FILE is a request body (JSON), several (JSON lines), a list of chat messages, or a "
        "Claude Code session; - is standard input. A session stands for its largest request "
        "unless --request says another. FILE is never changed.\n\n"
        "Exit codes: 0 fine; 1 the input breaks rules, cannot be understood or cannot fit; "
        "2 wrong usage."
    ),
    version_flags=["--version"],
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)


def _refuse_options(_: object, value: str | None) -> None:
    """Refuse a file whose name looks like an option; - is no option, though cyclopts takes it so."""
    if value is not None and value.startswith("-") and value != STDIN:
        raise ValueError(f"There is no such option. A file of that name is ./{value}")


File: TypeAlias = Annotated[
    str,
    Parameter(
        name="FILE",
        allow_leading_hyphen=True,
        validator=_refuse_options,
        help="A file, or - for standard input.",
    ),
]
Request: TypeAlias = Annotated[
    int | None,
    Parameter(
        name="--request",
        validator=Number(gte=1),
        help="Which request of the file, counted from 1. Default: the largest.",
    ),
]
WireFormat: TypeAlias = Annotated[
    Literal["anthropic", "openai-chat", "openai-responses", "gemini"] | None,
    Parameter(name="--format", help="Wire format. Default: told from the content."),
]
AsJson: TypeAlias = Annotated[
    bool,
    Parameter(
        name="--json", negative="", show_default=False, help="Print JSON (docs/json-output.md)."
    ),
]


@app.command(name="check")
def _check(
    file: File | None = None,
    /,
    *,
    rule: Annotated[
        str | None,
        Parameter(
            name="--rule",
            help="Explain one rule, such as A2, instead of checking: what it demands, what the "
            "provider says, how to mend it.",
        ),
    ] = None,
    request: Request = None,
    format: WireFormat = None,  # noqa: A002 - the option's name
    as_json: AsJson = False,
) -> int:
    """Say which rules of its provider a request breaks, where, and how to mend it."""
    if (file is None) == (rule is None):
        raise UsageError(
            "check takes either a file or --rule",
            "trimtab check FILE checks a request; trimtab check --rule A2 explains a rule",
        )
    if rule is not None:
        return check.explain(rule)
    return check.run(file or "", request=request, format=format, as_json=as_json)


@app.command(name="inspect")
def _inspect(
    file: File,
    /,
    *,
    request: Request = None,
    format: WireFormat = None,  # noqa: A002 - the option's name
    is_forecast: Annotated[
        bool,
        Parameter(
            name="--forecast",
            negative="",
            show_default=False,
            help="Show a session's sizes, predicted and billed, and the turns that are left.",
        ),
    ] = False,
    budget: Annotated[
        int | None,
        Parameter(
            name="--budget",
            validator=Number(gte=1),
            help="With --forecast: tokens that no request must pass. Default: what the model's "
            "window takes.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show where the tokens of a request are: by role, part and tool, the largest, the protected.

    With --forecast, a whole session: how large each request was, what was predicted
    of it before it was sent, how many turns are left, and what tool output still fits.
    """
    if is_forecast:
        if format is not None:
            raise UsageError("--forecast reads sessions", "leave --format out")
        return forecast.run(file, request=request, budget=budget, as_json=as_json)
    if budget is not None:
        raise UsageError("--budget is for --forecast", "inspect FILE needs no budget")
    return inspect.run(file, request=request, format=format, as_json=as_json)


@app.command(name="compact")
def _compact(  # noqa: PLR0913 - one an option
    file: File,
    /,
    *,
    budget: Annotated[
        int,
        Parameter(
            name="--budget",
            validator=Number(gte=1),
            help="Tokens that the request must not pass.",
        ),
    ],
    target: Annotated[
        int | None,
        Parameter(
            name="--target",
            validator=Number(gte=1),
            help="Tokens to come down to. Default: 0.4 of the budget.",
        ),
    ] = None,
    policy: Annotated[
        StrategyName,
        Parameter(
            name="--policy",
            help="How it is cut: none (not at all), sliding (the oldest go until it fits), sticky "
            "(until the target is met), mask (old tool results go, then the oldest), "
            "deterministic (the whole ladder, with a ledger of what went).",
        ),
    ] = "deterministic",
    summarizer: Annotated[
        str | None,
        Parameter(
            name="--summarizer",
            help="Where it is over the budget, ask this model to sum up the older part "
            "(such as openai:gpt-5-mini; needs trimtab[summaries] and the provider's key), "
            "and show the briefing, whether it was taken and what it cost.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        Parameter(
            name=["--output", "-o"],
            allow_leading_hyphen=True,
            validator=_refuse_options,
            help="Write the request there, in place of what is there; - is standard output. "
            "Default: show, write nothing.",
        ),
    ] = None,
    request: Request = None,
    format: WireFormat = None,  # noqa: A002 - the option's name
    as_json: AsJson = False,
) -> int:
    """Cut a request to a budget, validly, and show what went, why, and what it saved."""
    return compact.run(
        file,
        budget=budget,
        target=target,
        strategy=policy,
        output=output,
        request=request,
        format=format,
        as_json=as_json,
        summarizer=summarizer,
    )


@app.command(name="replay", usage="Usage: trimtab replay [OPTIONS] [PATH...]")
def _replay(  # noqa: PLR0913 - one an option
    *paths: Annotated[
        str,
        Parameter(
            name="PATH",
            help="A file, or a folder of them: all that is in it is looked at, in the order of "
            "names, hidden files aside. Default: where known agents keep their sessions.",
        ),
    ],
    budget: Annotated[
        int | None,
        Parameter(
            name="--budget",
            validator=Number(gte=1),
            help="Tokens that no request must pass. Default: what each model's window takes.",
        ),
    ] = None,
    policies: Annotated[
        str,
        Parameter(
            name="--policies",
            help="Replay under these policies as well, with commas between, or all: nothing, "
            "client, client-early, sliding, sticky, mask, deterministic, births, cold, "
            "summaries, summaries-late, provider (docs/replay.md).",
        ),
    ] = "",
    advise: Annotated[
        bool,
        Parameter(
            name="--advise",
            negative="",
            show_default=False,
            help="Name the best setting of each client itself, with its known traps.",
        ),
    ] = False,
    explain: Annotated[
        bool,
        Parameter(
            name="--explain",
            negative="",
            show_default=False,
            help="Show what was chosen and the arithmetic of each compaction.",
        ),
    ] = False,
    gate: Annotated[
        bool,
        Parameter(
            name="--gate",
            negative="",
            show_default=False,
            help="Fail where trimtab would have been dearer: in all, or by 2% in any session.",
        ),
    ] = False,
    unroll: Annotated[
        bool,
        Parameter(
            name="--unroll",
            negative="",
            show_default=False,
            help="Take a body for the last request of a session, and replay those before it too.",
        ),
    ] = False,
    prices: Annotated[
        str | None,
        Parameter(
            name="--prices",
            help="A JSON file of prices by model, in dollars a million tokens: fresh, read, write, "
            "write_long, output.",
        ),
    ] = None,
    resume: Annotated[
        str | None,
        Parameter(
            name="--resume",
            help="Note results in this file, and take from it those of files that have not changed.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        Parameter(
            name="--workers",
            validator=Number(gte=1),
            help="Processes at most. Default: one a core.",
        ),
    ] = None,
    html: Annotated[
        str | None,
        Parameter(
            name="--html",
            allow_leading_hyphen=True,
            help="Write a report to this file: one HTML file that needs no network and holds no word "
            "of a conversation; - for standard output.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run recorded sessions through trimtab and show what it would have sent, and what it costs.

    PATH is one or more files that the other commands read too, and folders of
    them. Each session is replayed on its own, from its first request on. Nothing
    is sent, and nothing is written but what --resume and --html name.

    Exit code 1: a request that came in valid would have been sent invalid,
    nothing could be replayed, or --gate failed.
    """
    return replay.run(
        paths,
        budget=budget,
        as_json=as_json,
        policies=policies,
        is_advised=advise,
        is_explained=explain,
        is_gate=gate,
        is_unrolled=unroll,
        prices=prices,
        resume=resume,
        workers=workers,
        html=html,
    )


@app.command(name="doctor", usage="Usage: trimtab doctor [OPTIONS] SESSION...")
def _doctor(
    *sessions: Annotated[
        str,
        Parameter(
            name="SESSION",
            help="A recorded session, or a folder of them: all that is in it is looked at, in "
            "the order of names, hidden files aside.",
        ),
    ],
    as_json: AsJson = False,
) -> int:
    """Show where recorded sessions lost the provider's cache, why, what it cost and what to do.

    Each request is held against the one that it goes on from: what of it was
    sent again as it was, and the first place that differs. Nothing is sent and
    nothing is written. docs/doctor.md explains each cause.

    Exit code 1: breaks that matter were found, or nothing could be read.
    """
    return doctor.run(sessions, as_json=as_json)


Where: TypeAlias = Annotated[
    str,
    Parameter(
        name="--store",
        help="A file, or the address of a Redis or Valkey server. Default: this user's file "
        "(docs/stores.md).",
    ),
]


@app.command(name="store")
def _store(
    *,
    where: Where = "",
    conversation: Annotated[
        str,
        Parameter(name="--conversation", help="Only those whose id begins so."),
    ] = "",
    tenant: Annotated[
        str | None,
        Parameter(name="--tenant", help="Only this tenant's, by the name that it was given."),
    ] = None,
    older_than: Annotated[
        str | None,
        Parameter(
            name="--older-than", help="Only what was not used for so long: 30m, 12h, 7d, 2w."
        ),
    ] = None,
    is_purge: Annotated[
        bool,
        Parameter(
            name="--purge", negative="", show_default=False, help="Delete them, archive and all."
        ),
    ] = False,
    everything: Annotated[
        bool,
        Parameter(
            name="--all",
            negative="",
            show_default=False,
            help="With --purge: every conversation, where no other option says which.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show which conversations a store holds, for whom, how old and how large; or delete them.

    No word of a conversation is shown, and no tenant by name.
    """
    older = None if older_than is None else store.seconds_of(older_than)
    wanted = store.Wanted(conversation, tenant, older)
    return store.run(where, wanted, is_purge=is_purge, everything=everything, as_json=as_json)


@app.command(name="recall")
def _recall(
    what: Annotated[
        str,
        Parameter(
            name="ID",
            help="The 16 digits that a marker names; with --grep a recorded session, or a "
            "conversation that trimtab store shows.",
        ),
    ],
    /,
    *,
    grep: Annotated[
        str | None,
        Parameter(name="--grep", help="Find messages that hold this text, in whatever case."),
    ] = None,
    where: Where = "",
    tenant: Annotated[str, Parameter(name="--tenant", help="Whose it is.")] = "",
    as_json: AsJson = False,
) -> int:
    """Give back, word for word, what a compaction removed; or find it.

    An archive must have been kept: Engine(archive=True).
    """
    if grep is None:
        return recall.by_id(what, where=where, tenant=tenant, as_json=as_json)
    return recall.search(what, grep, where=where, tenant=tenant, as_json=as_json)


@app.command(name="mcp")
def _mcp(
    *,
    where: Where = "",
    tenant: Annotated[
        str, Parameter(name="--tenant", help="Whose archive the agent may see.")
    ] = "",
) -> int:
    """Serve an agent what compactions removed: tools recall and search, over standard input."""
    return mcp.run(where, tenant)


def run(arguments: Sequence[str]) -> int:
    """Run a command.

    Returns:
        The exit code.
    """
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough; what is left in the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_FINE
    except OSError as error:
        complain(f"the output cannot be written: {error.strerror}")
        return USAGE


def _run(arguments: Sequence[str]) -> int:
    try:
        result = app(list(arguments), exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except CycloptsError as error:
        complain(str(error), "trimtab --help, or trimtab COMMAND --help, shows what there is")
        return USAGE
    except UsageError as error:
        complain(str(error), error.hint)
        return USAGE
    except TrimtabError as error:
        complain(*_message_and_hint(error))
        return NOT_FINE
    except MemoryError:
        complain("the file is too large for the memory of this machine")
        return NOT_FINE
    return result if isinstance(result, int) else FINE


def _message_and_hint(error: TrimtabError) -> tuple[str, str]:
    message, _, hint = str(error).partition("; hint: ")
    if not hint and isinstance(error, MalformedBodyError):
        hint = "it must be whole JSON in UTF-8; copy or export it again"
    return message, hint or "trimtab --help says what can be read"
