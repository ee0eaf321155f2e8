"""A plan as JSON, so that a state outlives its process.

What an edit puts in place of something (a *form*) can be large and lives as
long as the conversation does. So forms are kept apart, each under a key made
of its own content, and a stored plan only names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, TypeAlias

from trimtab.messages import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from trimtab.plan import Drop, Edit, EnvelopeEdit, Fold, Keep, Plan, Ref, Replace
from trimtab.wire.json_spans import dump

__all__ = ["Forms", "form_names", "load_plan", "plan_digest", "store_plan"]

Json: TypeAlias = dict[str, Any]

Forms: TypeAlias = Mapping[str, Json]
"""What stands in place of something, by its name."""

_PARTS: dict[str, type[Part]] = {
    kind.__name__: kind for kind in (Text, Thinking, ToolCall, Media, Opaque)
}
"""Parts whose fields are strings and numbers."""

_LATER_FIELDS = frozenset(
    (
        ("Text", "opaque"),
        ("Thinking", "needs_answer"),
        ("Thinking", "signed_by"),
        ("Media", "seconds"),
    )
)
"""Fields that the first version did not have; they are stored only where they say something."""


def store_plan(plan: Plan, keep: Callable[[Json], str]) -> Json:
    """Make JSON of a plan.

    Args:
        plan: The plan.
        keep: Takes a form and gives the name to find it under.
    """
    edits = [_store_edit(edit, keep) for edit in plan.edits]
    envelope = [
        [list(edit.path), edit.json, edit.reason, edit.header, edit.header_value]
        for edit in plan.envelope
    ]
    return {"edits": edits, "envelope": envelope}


def load_plan(value: Json, forms: Forms) -> Plan:
    """Make the plan of its JSON again.

    Args:
        value: What :func:`store_plan` made.
        forms: All forms that it names.

    Raises:
        KeyError, TypeError, ValueError: If it is something else, or a form is missing.
    """
    edits = tuple(_load_edit(edit, forms) for edit in value["edits"])
    envelope = tuple(EnvelopeEdit(tuple(path), *more) for path, *more in value["envelope"])
    return Plan(edits, envelope)


def form_names(value: Json) -> list[str]:
    """The names of all forms in the JSON of a plan, each once."""
    named = [edit["form"] for edit in value["edits"] if "form" in edit]
    return list(dict.fromkeys(named))


def plan_digest(plan: Plan) -> bytes:
    """What tells a plan from others, whatever order its edits are in and are said to save."""
    bare = [replace(edit, saved_tokens=0) for edit in plan if not isinstance(edit, Keep)]
    told = store_plan(Plan(tuple(bare), plan.envelope), lambda form: dump(form).decode())
    return sha256(dump([sorted(map(dump, told["edits"])), told["envelope"]])).digest()[:8]


def _store_edit(edit: Edit, keep: Callable[[Json], str]) -> Json:
    match edit:
        case Keep():
            return {"edit": "keep", "refs": _store_refs([edit.ref]), "why": edit.reason}
        case Drop():
            return {
                "edit": "drop",
                "refs": _store_refs([edit.ref]),
                "why": edit.reason,
                "saved": edit.saved_tokens,
            }
        case Replace():
            stored = {
                "edit": "replace",
                "at": [edit.message, edit.part],
                "form": keep(_store_part(edit.new)),
                "why": edit.reason,
                "saved": edit.saved_tokens,
            }
            return stored | ({"birth": True} if edit.is_birth else {})
        case Fold():
            return {
                "edit": "fold",
                "refs": _store_refs(edit.removed),
                "before": edit.before,
                "joins": edit.joins,
                "form": keep(_store_message(edit.message)),
                "why": edit.reason,
                "saved": edit.saved_tokens,
            }


def _load_edit(value: Json, forms: Forms) -> Edit:
    match value["edit"]:
        case "keep":
            return Keep(_load_refs(value["refs"])[0], value["why"])
        case "drop":
            return Drop(_load_refs(value["refs"])[0], value["why"], value["saved"])
        case "replace":
            message, part = value["at"]
            new = _load_part(forms[value["form"]])
            is_birth = value.get("birth", False)
            return Replace(message, part, new, value["why"], value["saved"], is_birth)
        case "fold":
            return Fold(
                tuple(_load_refs(value["refs"])),
                value["before"],
                _load_message(forms[value["form"]]),
                value["why"],
                value["joins"],
                value["saved"],
            )
        case unknown:
            raise ValueError(unknown)


def _store_refs(refs: Iterable[Ref]) -> list[list[Any]]:
    """Refs in order; whole messages in a row become one range."""
    stored: list[list[Any]] = []
    for ref in refs:
        if ref.parts is not None:
            stored.append([ref.message, list(ref.parts)])
        elif stored and isinstance(stored[-1][1], int) and stored[-1][1] == ref.message - 1:
            stored[-1][1] = ref.message
        else:
            stored.append([ref.message, ref.message])
    return stored


def _load_refs(stored: list[list[Any]]) -> list[Ref]:
    refs: list[Ref] = []
    for first, last in stored:
        if isinstance(last, int):
            refs.extend(Ref(place) for place in range(first, last + 1))
        else:
            refs.append(Ref(first, tuple(last)))
    return refs


def _store_message(message: Message) -> Json:
    return {
        "role": message.role,
        "origin": message.origin,
        "parts": [_store_part(part) for part in message.parts],
    }


def _load_message(value: Json) -> Message:
    parts = [_load_part(part) for part in value["parts"]]
    return Message(value["role"], parts, origin=value["origin"])


def _store_part(part: Part) -> Json:
    if isinstance(part, ToolResult):
        content = [_store_part(block) for block in part.content]
        return {
            "part": "ToolResult",
            "id": part.call_id,
            "content": content,
            "error": part.is_error,
        }
    kind = type(part).__name__
    fields = {
        name: value
        for name in part.__dataclass_fields__
        if (value := getattr(part, name)) or (kind, name) not in _LATER_FIELDS
    }
    return {"part": kind, **fields}


def _load_part(value: Json) -> Part:
    if value["part"] == "ToolResult":
        content = tuple(_load_part(block) for block in value["content"])
        return ToolResult(value["id"], content, value["error"])  # type: ignore[arg-type]
    fields = {name: field for name, field in value.items() if name != "part"}
    return _PARTS[value["part"]](**fields)
