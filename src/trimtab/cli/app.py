"""The commands and their options; each command is a file beside this one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter

from trimtab.cli import check, compact, inspect
from trimtab.cli.talk import NOT_FINE, USAGE, UsageError, complain
from trimtab.errors import TrimtabError

__all__ = ["run"]

app = App(
    name="trimtab",
    help=(
        "Keep a long agent conversation inside its model's context window.\n\n"
        "FILE is a request body (JSON), several (JSON lines), a list of chat messages, or a "
        "Claude Code session; - is standard input. A session stands for its largest request "
        "unless --request says another.\n\n"
        "Exit codes: 0 fine, 1 the input breaks rules or cannot fit, 2 wrong usage."
    ),
    version_flags=["--version"],
    result_action="return_value",
)

File = Annotated[str, Parameter(name="FILE", help="A file, or - for standard input.")]
Request = Annotated[
    int | None,
    Parameter(
        name="--request",
        help="Which request of a session, counted from 1. Default: the largest.",
    ),
]
WireFormat = Annotated[
    str | None,
    Parameter(
        name="--format",
        help="Wire format: anthropic or openai-chat. Default: told from the content.",
    ),
]
AsJson = Annotated[
    bool, Parameter(name="--json", negative="", help="Print JSON (docs/json-output.md).")
]


@app.command(name="check")
def _check(
    file: File,
    /,
    *,
    request: Request = None,
    format: WireFormat = None,  # noqa: A002 - the option's name
    as_json: AsJson = False,
) -> int:
    """Say which rules of its provider a request breaks, where, and how to mend it."""
    return check.run(file, request=request, format=format, as_json=as_json)


@app.command(name="inspect")
def _inspect(
    file: File,
    /,
    *,
    request: Request = None,
    format: WireFormat = None,  # noqa: A002 - the option's name
    as_json: AsJson = False,
) -> int:
    """Show where the tokens of a request are: by role, part and tool, the largest, the protected."""
    return inspect.run(file, request=request, format=format, as_json=as_json)


@app.command(name="compact")
def _compact(
    file: File,
    /,
    *,
    budget: Annotated[
        int, Parameter(name="--budget", help="Tokens that the request must not pass.")
    ],
    target: Annotated[
        int | None,
        Parameter(name="--target", help="Tokens to come down to. Default: 0.4 of the budget."),
    ] = None,
    output: Annotated[
        str | None,
        Parameter(
            name=["--output", "-o"],
            help="Write the request there; - is standard output. Default: show, write nothing.",
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
        output=output,
        request=request,
        format=format,
        as_json=as_json,
    )


def run(arguments: Sequence[str]) -> int:
    """Run a command.

    Returns:
        The exit code.
    """
    try:
        result = app(list(arguments), exit_on_error=False, print_error=False)
    except (CycloptsError, UsageError) as error:
        complain(_sentence(error))
        return USAGE
    except TrimtabError as error:
        complain(str(error))
        return NOT_FINE
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        sys.stderr.close()
        return NOT_FINE
    return result if isinstance(result, int) else 0


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{text} Try: trimtab --help" if isinstance(error, CycloptsError) else text
