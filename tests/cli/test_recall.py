"""``trimtab recall``: what a compaction removed, by its id and by its words."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.running import Trimtab
from tests.cli.storing import SECRET, filled, opened_store
from trimtab.messages import Text, ToolResult
from trimtab.squeeze import digest
from trimtab.stores.archive import Archive, message_id


@pytest.fixture
def where(tmp_path: Path) -> str:
    """A file with the archives of two tenants."""
    path = tmp_path / "store.db"
    filled(path)
    filled(path, tenant="Ann", task="Ann's")
    return str(path)


RESULT = ToolResult("call_1", (Text(f"{SECRET}\n" + "x" * 1_600),))


def test_a_result_is_given_back_by_the_digest_that_a_marker_names(
    trimtab: Trimtab, where: str
) -> None:
    """To the letter, and whoever knows the tenant alone."""
    item = digest(RESULT)
    ended = trimtab("recall", item, "--store", where)
    told = json.loads(trimtab("recall", item, "--store", where, "--json").out)

    assert ended.code == 0
    assert ended.out == RESULT.text + "\n"
    assert (told["id"], told["role"], told["message"]) == (item, "user", 3)
    assert told["text"] == RESULT.text
    assert trimtab("recall", item, "--store", where, "--tenant", "Ann").code == 0
    assert trimtab("recall", item, "--store", where, "--tenant", "Bob").code == 1


def test_a_message_is_given_back_as_it_came(trimtab: Trimtab, tmp_path: Path) -> None:
    """By the digest of its bytes, or found by its words."""
    path = tmp_path / "store.db"
    branch = filled(path)
    ended = trimtab(
        "recall",
        _conversation(trimtab, str(path)),
        "--grep",
        "BJÖRK",
        "--store",
        str(path),
        "--json",
    )
    (hit,) = json.loads(ended.out)["found"]
    raw = json.dumps(branch.history[2], ensure_ascii=False)

    assert (hit["role"], hit["message"], hit["lines"]) == ("user", 3, [SECRET])
    assert hit["id"] == message_id(raw.encode())
    assert json.loads(trimtab("recall", hit["id"], "--store", str(path)).out) == branch.history[2]


def _conversation(trimtab: Trimtab, where: str) -> str:
    (found,) = json.loads(trimtab("store", "--store", where, "--tenant", "", "--json").out)[
        "conversations"
    ]
    return str(found["id"])


def test_words_are_found_in_one_conversation_of_one_tenant(trimtab: Trimtab, where: str) -> None:
    """And the lines that hold them are shown."""
    ended = trimtab("recall", _conversation(trimtab, where), "--grep", "password", "--store", where)
    nothing = trimtab(
        "recall", _conversation(trimtab, where), "--grep", "passport", "--store", where
    )
    other = trimtab(
        "recall",
        _conversation(trimtab, where),
        "--grep",
        "password",
        "--store",
        where,
        "--tenant",
        "Ann",
    )

    assert ended.code == 0
    assert SECRET in ended.out
    assert "1 message found" in ended.out
    assert (nothing.code, other.code) == (1, 1)


def test_words_are_found_in_a_recorded_session(trimtab: Trimtab, tmp_path: Path) -> None:
    """Each message once, however many requests it stands in."""
    path = tmp_path / "session.json"
    lines = "\n".join(f"needle {number}" for number in range(8))
    messages = [
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": lines},
        {"role": "user", "content": "No needle? Look again."},
    ]
    path.write_text(json.dumps({"model": "gpt-5.2", "messages": messages}), encoding="utf-8")

    shown = trimtab("recall", str(path), "--grep", "Needle")
    told = json.loads(trimtab("recall", str(path), "--grep", "Needle", "--json").out)["found"]

    assert shown.code == 0
    assert "2 messages found" in shown.out
    assert "3 more lines" in shown.out
    assert [(hit["role"], hit["message"], len(hit["lines"])) for hit in told] == [
        ("assistant", 2, 8),
        ("user", 3, 1),
    ]
    assert trimtab("recall", str(path), "--grep", "nothing").code == 1


def test_a_file_that_is_no_session_is_said(trimtab: Trimtab, tmp_path: Path) -> None:
    """As every command says it."""
    path = tmp_path / "notes.txt"
    path.write_text("words", encoding="utf-8")

    assert trimtab("recall", str(path), "--grep", "x").code == 1


def test_nothing_to_look_for_is_wrong_usage(trimtab: Trimtab, where: str) -> None:
    """It would find everything."""
    assert trimtab("recall", "x", "--grep", "", "--store", where).code == 2


@pytest.mark.parametrize("item", ["0" * 16, "nothing", "00", ""])
def test_an_id_that_leads_nowhere_is_said(trimtab: Trimtab, where: str, item: str) -> None:
    """With what may be the reason."""
    ended = trimtab("recall", item, "--store", where)

    assert ended.code == 1
    assert "no archive was kept" in ended.err


def test_without_an_archive_nothing_of_what_was_removed_is_kept(
    trimtab: Trimtab, tmp_path: Path
) -> None:
    """The words of a conversation lie in no file."""
    path = tmp_path / "store.db"
    filled(path, is_archived=False)
    held = b"".join(each.read_bytes() for each in tmp_path.iterdir())

    assert trimtab("recall", digest(RESULT), "--store", str(path)).code == 1
    assert SECRET.encode() not in held
    assert b"password of the build" not in held


@pytest.mark.parametrize(
    ("spoiled", "told"),
    [
        (b"trimtab-kept\x02" + b"x" * 40, "another version"),
        (b"trimtab-kept\x01torn", "cannot be read"),
    ],
)
def test_an_entry_that_cannot_be_read_is_said(
    trimtab: Trimtab, where: str, spoiled: bytes, told: str
) -> None:
    """And harms nothing else."""

    async def spoil() -> None:
        store = opened_store(where)
        entries = [entry async for entry in store.scan(b"a")]
        wholes = [e.key for e in entries if e.value.startswith(b"trimtab-kept\x01")]
        await store.put(dict.fromkeys(wholes, spoiled))
        await store.close()

    asyncio.run(spoil())
    ended = trimtab("recall", digest(RESULT), "--store", where)

    assert ended.code == 1
    assert told in ended.err


def test_a_result_whose_message_is_gone_is_a_miss(where: str) -> None:
    """Stores forget."""

    async def forget() -> None:
        store = opened_store(where)
        entries = [entry async for entry in store.scan(b"a")]
        await store.delete([e.key for e in entries if e.value.startswith(b"trimtab-kept\x01")])
        assert await Archive(store).recall(digest(RESULT)) is None
        await store.close()

    asyncio.run(forget())
