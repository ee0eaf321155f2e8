"""Cut the demo session to a small window, and show what went and why: what ``make demo`` runs.

Each step is a command that anyone can type; it is shown before its output.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from trimtab import wire
from trimtab.cli.app import run as run_trimtab

ROOT = Path(__file__).parent.parent
SESSION = Path("demo/session.json")
MADE = Path("build/demo")
CHAT = MADE / "session.chat.json"
BUDGET = 20_000

out = Console(highlight=False)


def main() -> int:
    """Run the demo; 0 if every step came out as it should."""
    os.chdir(ROOT)
    MADE.mkdir(parents=True, exist_ok=True)
    say("An agent's session of 248 tool calls: where are its tokens?")
    codes = [trimtab("inspect", SESSION)]
    say("A window of 160,000 tokens: it is enough to shorten old outputs.")
    codes.append(trimtab("compact", SESSION, "--budget", 160_000, "--target", 150_000))
    say("A window of 20,000 tokens: the middle goes.")
    small = MADE / "session.20k.json"
    codes += [trimtab("compact", SESSION, "--budget", BUDGET, "-o", small), trimtab("check", small)]
    say("The same conversation as OpenAI's Chat Completions has it.")
    write_chat()
    small_chat = MADE / "session.20k.chat.json"
    codes += [
        trimtab("compact", CHAT, "--budget", BUDGET, "-o", small_chat),
        trimtab("check", small_chat),
    ]
    say("A budget below what must stay: refused, with numbers, and nothing written.")
    trimtab("compact", SESSION, "--budget", 2_000)
    say("The same session request by request: what would it have saved?")
    report = MADE / "report.html"
    codes.append(trimtab("replay", SESSION, "--unroll", "--html", report))
    out.print(f"\nThe report: [bold]{report}[/] (open it in a browser)")
    out.print(f"\nTry it on a file of yours: [bold]{Path(sys.prefix).name}/bin/trimtab --help[/]")
    return max(codes)


def say(what: str) -> None:
    """Introduce a step."""
    out.print()
    out.print(Rule(Text(what, style="bold cyan"), align="left", style="cyan"))


def trimtab(*arguments: str | int | Path) -> int:
    """Show a command and run it."""
    words = [str(argument) for argument in arguments]
    out.print(Text(f"$ trimtab {shlex.join(words)}", style="bold"))
    code = run_trimtab(words)
    out.print()
    return code


def write_chat() -> None:
    """Build the Chat form of the session from what was read of its Anthropic form."""
    request = wire.read(SESSION.read_bytes())
    surface = replace(request.surface, model="gpt-5.6")
    CHAT.write_bytes(wire.build(request.messages, "openai-chat", surface=surface))


if __name__ == "__main__":
    sys.exit(main())
