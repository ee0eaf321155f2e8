"""``trimtab store``: what is stored, for whom, how old, how large; and that it can be deleted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Trimtab
from tests.cli.storing import SECRET, filled, opened_store
from tests.stores.servers import Server
from trimtab.cli.store import seconds_of
from trimtab.cli.talk import UsageError


@pytest.fixture(params=["sqlite", "redis"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A store of each kind that can be named, with three conversations of two tenants."""
    server = None
    name = str(tmp_path / "store.db")
    if request.param == "redis":
        server = Server(tmp_path).start()
        name = server.url
    filled(name)
    filled(name, task="another")
    filled(name, tenant="Ann")
    yield name
    if server is not None:
        server.stop()


def listed(trimtab: Trimtab, *arguments: str) -> list[dict]:
    """What the command prints as JSON."""
    ended = trimtab("store", *arguments, "--json")
    assert ended.code == 0, ended.err
    found: list[dict] = json.loads(ended.out)["conversations"]
    return found


def test_what_is_stored_is_shown_without_a_word_of_it(trimtab: Trimtab, where: str) -> None:
    """Whose it is, how large, how old; neither words nor names."""
    found = listed(trimtab, "--store", where)
    shown = trimtab("store", "--store", where)

    assert len(found) == 3
    assert sorted(each["tenant"] == "" for each in found) == [False, True, True]
    for each in found:
        assert each["format"] == "anthropic"
        assert each["model"] == "claude-opus-4-5"
        assert each["messages"] == 11
        assert 0 < each["tokens"] <= 1_500
        assert 1_000 < each["bytes"] < 20_000
        assert 0 <= each["age_seconds"] < 300
        assert each["id"] in shown.out
    # What two conversations of one tenant have in common is kept once.
    assert sorted(each["archived"] > 0 for each in found) == [False, True, True]
    assert "3 conversations" in shown.out
    for told in (shown.out, json.dumps(found)):
        assert "Ann" not in told
        assert SECRET not in told


def test_conversations_are_named_by_tenant_id_and_age(trimtab: Trimtab, where: str) -> None:
    """Alone and together."""
    everything = listed(trimtab, "--store", where)
    (anns,) = listed(trimtab, "--store", where, "--tenant", "Ann")

    assert {each["id"] for each in listed(trimtab, "--store", where, "--tenant", "")} == {
        each["id"] for each in everything if each["id"] != anns["id"]
    }
    assert listed(trimtab, "--store", where, "--tenant", "Bob") == []
    (same,) = listed(trimtab, "--store", where, "--conversation", anns["id"][:9].upper())
    assert same | {"age_seconds": 0} == anns | {"age_seconds": 0}
    assert listed(trimtab, "--store", where, "--conversation", anns["id"], "--tenant", "") == []
    assert listed(trimtab, "--store", where, "--older-than", "1h") == []
    assert len(listed(trimtab, "--store", where, "--older-than", "0s")) == 3


def test_what_is_purged_is_gone_and_nothing_else(trimtab: Trimtab, where: str) -> None:
    """States, links, texts and archive."""
    (anns,) = listed(trimtab, "--store", where, "--tenant", "Ann")

    ended = trimtab("store", "--store", where, "--tenant", "Ann", "--purge")
    again = trimtab("store", "--store", where, "--tenant", "Ann", "--purge", "--json")

    assert ended.code == 0
    assert f"1 conversation deleted: {anns['entries']} entries" in ended.out
    assert json.loads(again.out) == {"conversations": [], "deleted": 0}
    assert len(listed(trimtab, "--store", where)) == 2
    assert trimtab("store", "--store", where, "--purge", "--all").code == 0
    assert listed(trimtab, "--store", where) == []


def test_purging_all_must_be_said(trimtab: Trimtab, where: str) -> None:
    """A slip of the finger deletes nothing."""
    ended = trimtab("store", "--store", where, "--purge")

    assert ended.code == 2
    assert "--all" in ended.err
    assert len(listed(trimtab, "--store", where)) == 3


def test_a_purged_file_holds_nothing_of_it(trimtab: Trimtab, tmp_path: Path) -> None:
    """Not even where it was."""
    path = tmp_path / "store.db"
    filled(path, tenant="Ann")

    assert trimtab("store", "--store", str(path), "--purge", "--tenant", "Ann").code == 0
    held = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert b"trimtab-state" not in held
    assert b"claude-opus" not in held


def test_what_is_told_of_a_conversation_may_be_torn(trimtab: Trimtab, tmp_path: Path) -> None:
    """It is shown all the same, and deleted by its id."""
    path = tmp_path / "store.db"
    filled(path)

    async def spoil() -> None:
        store = opened_store(path)
        (about,) = [entry.key async for entry in store.scan(b"i")]
        await store.put({about: b"torn", b"l" + bytes(16): b"a lease"})
        await store.close()

    asyncio.run(spoil())
    (found,) = listed(trimtab, "--store", str(path))

    assert (found["tenant"], found["model"], found["tokens"]) == (None, None, None)
    assert "?" in trimtab("store", "--store", str(path)).out
    assert listed(trimtab, "--store", str(path), "--tenant", "") == []
    assert trimtab("store", "--store", str(path), "--purge", "--all").code == 0


def test_a_store_that_is_not_there_is_not_made(trimtab: Trimtab, tmp_path: Path) -> None:
    """It is said how to name another."""
    ended = trimtab("store", "--store", str(tmp_path / "none.db"))

    assert ended.code == 1
    assert "there is no store at" in ended.err
    assert "--store" in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("span", "seconds"), [("30m", 1_800), ("12h", 43_200), (" 2w ", 1_209_600)]
)
def test_spans_of_time_are_read(span: str, seconds: int) -> None:
    """A number and a unit."""
    assert seconds_of(span) == seconds


@pytest.mark.parametrize("span", ["", "7", "d", "7y", "-7d", "1.5h", "9999999d"])
def test_what_is_no_span_of_time_is_refused(span: str) -> None:
    """And it is said how to write one."""
    with pytest.raises(UsageError, match="no span of time"):
        seconds_of(span)
