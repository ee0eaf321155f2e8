"""Write docs/rules.md from the rules that `check` applies, so that the page cannot lie.

Run it: ``.venv/bin/python docs/make_rules.py``
"""

from __future__ import annotations

from pathlib import Path

from trimtab.wire import FORMATS

__all__ = ["page"]

PAGE = Path(__file__).parent / "rules.md"

HEAD = """# What providers demand

The rules that `trimtab check` applies, as of November 2026.
This page is generated: `.venv/bin/python docs/make_rules.py`.

A rule that a request cannot show is not here: what the server behind an OpenAI-like address demands
of roles and ids, whether a signature still fits its prefix, whether a paused turn was edited.
"""


def page() -> str:
    """Make the page."""
    sections = [HEAD]
    for wire_format in FORMATS:
        sections.append(f"\n## {wire_format.name}\n")
        for rule in wire_format.rules.values():
            sections.append(f"\n### {rule.id}\n\n{rule.demands}\n")
            if rule.refusal:
                sections.append(f"\n> {rule.refusal}\n")
            sections.append(f"\n{rule.mend}\n")
            if rule.needs:
                fields = ", ".join(f"`{field}`" for field in rule.needs)
                told = f"A recording that lacks {fields} does not show whether it holds"
                sections.append(f"\n{told}; the problem is then reported as unrecorded.\n")
    return "".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
