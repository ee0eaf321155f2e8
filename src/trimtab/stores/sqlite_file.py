"""A store in one file of this machine: several processes may share it, and it outlives them."""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TypeVar

from trimtab.errors import PolicyError, StoreError
from trimtab.events import Event, StoreSetAside
from trimtab.stores.store import Entry
from trimtab.stores.worker import Worker

__all__ = ["SqliteStore"]

Result = TypeVar("Result")

_APPLICATION = 0x7472_696D  # "trim": `file` and others tell by it whose database it is
_VERSION = 1
"""Of the tables; a file says its own as ``PRAGMA user_version``."""

_TABLES = """
CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB NOT NULL, used INTEGER NOT NULL);
CREATE INDEX entries_used ON entries (used);
"""
"""``used`` is in seconds since the epoch."""

_SETTINGS = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA secure_delete = ON;
PRAGMA journal_size_limit = 4194304;
"""
"""NORMAL: after a loss of power the last writes may be gone, and nothing is ever torn.
secure_delete: what is deleted is overwritten, so that no text stays in the file."""

_BUSY_MS = 100
"""How long another process's lock is waited for: less than a request waits for a store."""

_USE_SECONDS = 3600
"""A use is noted to the hour, so that looking something up hardly ever writes."""

_WRITES_BETWEEN = 256
"""Writes after which it is looked whether something is too old, or all too much."""

_SLACK = 0.9
"""Share of the cap that is left when it was passed, so that it is not passed again at once."""

_HIGHEST = b"\xff" * 64
"""Behind all that may follow the beginning of a key."""

_HEADER = b"SQLite format 3\0"
_APPLICATION_AT = 68
"""Where a database says whose it is."""

_AT_ONCE = 200
"""Entries that go together when room is made, and that are listed together."""


class SqliteStore:
    """Keeps entries in a file.

    One thread does the work, so that whoever waits for a lock or a slow disk can
    stop waiting. Safe for threads, event loops, processes and forks.

    Args:
        path: The file; it is made with mode 0600, its folder with 0700 where it is not there.
        ttl_seconds: What was not used for so long is forgotten.
        max_bytes: How large the file may become; what was not used for longest goes first.

    Raises:
        PolicyError: If a setting cannot hold.
    """

    never_waits = False
    outlives_process = True

    def __init__(self, path: Path, ttl_seconds: float, max_bytes: int) -> None:
        for setting, value in (("ttl_seconds", ttl_seconds), ("max_bytes", max_bytes)):
            if not value > 0:
                raise PolicyError(setting, value, "it must be above 0")
        self.path = path
        self.ttl_seconds = ttl_seconds
        self.max_bytes = max_bytes
        self._database: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._writes = 0
        self._on_event: Callable[[Event], None] | None = None
        self._worker: tuple[int, Worker] | None = None
        self._lock = Lock()

    def listen(self, on_event: Callable[[Event], None]) -> None:
        """Have it told when a file that cannot be used is set aside."""
        self._on_event = on_event

    def __repr__(self) -> str:
        return f"<SqliteStore {str(self.path)!r}>"

    # ---------------------------------------------------------------- a store

    async def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Look up some keys; what is found counts as used."""
        return await self._do(lambda database: _get(database, keys, *self._times()))

    async def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Write some entries, all or none."""
        now = int(time.time())
        rows = [(key, value, now) for key, value in entries.items()]

        def put(database: sqlite3.Connection) -> None:
            with _writing(database):
                database.executemany(
                    "INSERT INTO entries VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE"
                    " SET value = excluded.value, used = excluded.used",
                    rows,
                )

        await self._do(put, len(rows))

    async def add(self, entries: Mapping[bytes, bytes]) -> None:
        """Write those entries under whose keys nothing stands yet."""
        now, oldest, noted = self._times()
        rows = [(key, value, now, oldest, noted) for key, value in entries.items()]

        def add(database: sqlite3.Connection) -> None:
            with _writing(database):
                database.executemany(
                    "INSERT INTO entries VALUES (?1, ?2, ?3) ON CONFLICT (key) DO UPDATE"
                    " SET value = CASE WHEN used < ?4 THEN ?2 ELSE value END, used = ?3"
                    " WHERE used < ?5",
                    rows,
                )

        await self._do(add, len(rows))

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:
        """Write an entry if nobody else has in the meantime."""
        now, oldest, _ = self._times()

        def swap(database: sqlite3.Connection) -> bool:
            with _writing(database):
                found = database.execute(
                    "SELECT value FROM entries WHERE key = ? AND used >= ?", (key, oldest)
                ).fetchone()
                if (None if found is None else found[0]) != expected:
                    return False
                database.execute(
                    "INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", (key, value, now)
                )
                return True

        return await self._do(swap, 1)

    # -------------------------------------------------------------- management

    async def scan(self, prefix: bytes = b"") -> AsyncIterator[Entry]:
        """List the entries whose keys begin with something; looking at them is no use of them."""
        after: bytes | None = None
        while True:
            lot = await self._do(_lister(prefix, after, self._times()[1]))
            for key, value, used in lot:
                yield Entry(key, value, max(0.0, time.time() - used))
            if len(lot) < _AT_ONCE:
                return
            after = lot[-1][0]

    async def delete(self, keys: Iterable[bytes]) -> int:
        """Delete entries, so that nothing of them stays in the file."""
        rows = [(key,) for key in keys]

        def delete(database: sqlite3.Connection) -> int:
            with _writing(database):
                gone = database.executemany("DELETE FROM entries WHERE key = ?", rows).rowcount
            _shrink(database)
            return gone

        return await self._do(delete)

    async def tidy(self) -> None:
        """Forget what is too old, and what is too much; happens by itself every few hundred writes."""
        await self._do(self._tidy)

    async def close(self) -> None:
        """Close the file and end the thread; the next call opens it again."""
        with self._lock:
            held, self._worker = self._worker, None
        if held is None or held[0] != os.getpid():
            return
        await held[1].do(self._close)
        held[1].stop()

    # ------------------------------------------------------------- the thread

    def _times(self) -> tuple[int, int, int]:
        """Now, since when what is used is not too old, and since when a use need not be noted."""
        now = int(time.time())
        return now, int(now - self.ttl_seconds), now - min(_USE_SECONDS, int(self.ttl_seconds / 10))

    async def _do(self, work: Callable[[sqlite3.Connection], Result], writes: int = 0) -> Result:
        """Have the thread do something with the open file."""
        with self._lock:
            if self._worker is None or self._worker[0] != os.getpid():
                self._database = None  # that of the process that this one was forked from
                self._worker = (os.getpid(), Worker("trimtab-sqlite"))
                weakref.finalize(self, self._worker[1].stop)
            worker = self._worker[1]
        return await worker.do(lambda: self._run(work, writes))

    def _run(self, work: Callable[[sqlite3.Connection], Result], writes: int) -> Result:
        try:
            result = work(self._opened())
            self._written(writes)
        except sqlite3.Error as error:
            raise self._failure(error) from None
        except OSError as error:
            self._close()
            raise StoreError(f"the store {self.path} cannot be used: {error.strerror}") from None
        else:
            return result

    def _written(self, writes: int) -> None:
        """Count writes, and tidy up after some."""
        self._writes += writes
        if self._writes >= _WRITES_BETWEEN:
            self._writes = 0
            with suppress(sqlite3.OperationalError):  # what is full or locked is said elsewhere
                self._tidy(self._opened())

    def _failure(self, error: sqlite3.Error) -> StoreError:
        """What to say of an error; a file that can never be right again is set aside."""
        if _is_broken(error):
            self._close()
            if not _was_ours(self.path):
                return self._refusal("it is no file of trimtab's: move it away")
            self._set_aside(str(error), "broken")
        elif not _is_locked(error):
            self._close()  # the file may have been replaced, the disk may have room again
        return StoreError(f"the store {self.path} cannot be used: {error}")

    def _close(self, _: object = None) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()

    def _opened(self) -> sqlite3.Connection:
        """The open file; opened anew where another one lies there now."""
        if self._database is not None and self._file == _identity(self.path):
            return self._database
        self._close()
        self._make_file()
        self._file = _identity(self.path)
        database = sqlite3.connect(
            self.path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False
        )
        self._database = database
        version = _version(database)
        if version is None:
            _make_tables(database)
        elif _pages(database, "application_id") != _APPLICATION:
            raise self._refusal("it is a database of something else")
        elif version > _VERSION:
            raise self._refusal(
                f"a newer trimtab made it (version {version} of its tables, this one knows "
                f"{_VERSION}): update trimtab"
            )
        elif version < _VERSION:
            self._set_aside(f"it has version {version} of its tables, not {_VERSION}", "old")
            return self._opened()
        else:
            database.executescript(_SETTINGS)
        return database

    def _refusal(self, reason: str) -> StoreError:
        """What to say of a file that is somebody else's, and is left as it is."""
        self._close()
        return StoreError(f"the store {self.path} cannot be used: {reason}, or name another file")

    def _make_file(self) -> None:
        """Make the file so that nobody else can read it; what SQLite puts beside it is made alike."""
        if not self.path.parent.is_dir():
            self.path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        try:
            handle = os.open(self.path, flags, 0o600)
        except PermissionError:
            if not self.path.exists():
                raise
            return  # it cannot be written, but perhaps read
        try:
            head = os.read(handle, len(_HEADER))
            if not _HEADER.startswith(head):
                raise self._refusal("it is no file of trimtab's: move it away")
            if hasattr(os, "fchmod") and os.fstat(handle).st_mode & 0o077:
                os.fchmod(handle, 0o600)
        finally:
            os.close(handle)

    def _set_aside(self, reason: str, why: str) -> None:
        """Rename a file that cannot be used, so that a new one can be begun."""
        self._close()
        if self._file is None or self._file != _identity(self.path):
            return  # another process was faster
        name = f"{self.path.name}.{why}-{int(time.time())}-{os.getpid()}"
        aside = self.path.with_name(name)
        self.path.rename(aside)
        for suffix in ("-wal", "-shm"):
            with suppress(OSError):
                Path(f"{self.path}{suffix}").rename(f"{aside}{suffix}")
        if self._on_event is not None:
            self._on_event(StoreSetAside(str(aside), reason))

    def _tidy(self, database: sqlite3.Connection) -> None:
        _, oldest, _ = self._times()
        with _writing(database):
            database.execute("DELETE FROM entries WHERE used < ?", (oldest,))
        while (size := _size_bytes(database)) > self.max_bytes:
            share = 1 - self.max_bytes * _SLACK / size
            with _writing(database):
                database.execute(
                    "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries ORDER BY used,"
                    " rowid LIMIT (SELECT 1 + CAST(count(*) * ? AS INTEGER) FROM entries))",
                    (share,),
                )
        if _free_bytes(database) > self.max_bytes // 10:
            _shrink(database)


def _get(
    database: sqlite3.Connection, keys: Sequence[bytes], now: int, oldest: int, noted: int
) -> list[bytes | None]:
    found: dict[bytes, bytes] = {}
    stale: list[tuple[int, bytes]] = []
    for start in range(0, len(keys), _AT_ONCE):
        lot = keys[start : start + _AT_ONCE]
        places = ",".join("?" * len(lot))
        query = f"SELECT key, value, used FROM entries WHERE used >= ? AND key IN ({places})"  # noqa: S608 - question marks alone
        for key, value, used in database.execute(query, (oldest, *lot)):
            found[key] = value
            if used < noted:
                stale.append((now, key))
    if stale:
        with suppress(sqlite3.OperationalError), _writing(database):  # it was found all the same
            database.executemany("UPDATE entries SET used = ? WHERE key = ?", stale)
    return [found.get(key) for key in keys]


def _lister(
    prefix: bytes, after: bytes | None, oldest: int
) -> Callable[[sqlite3.Connection], list[tuple[bytes, bytes, int]]]:
    """A reader of the next entries whose keys begin with something, behind a key."""
    start = "key >= ?1" if after is None else "key > ?1"
    query = (
        f"SELECT key, value, used FROM entries WHERE {start} AND key < ?2 AND used >= ?3"  # noqa: S608 - words of ours
        " ORDER BY key LIMIT ?4"
    )
    values = (prefix if after is None else after, prefix + _HIGHEST, oldest, _AT_ONCE)

    def read(database: sqlite3.Connection) -> list[tuple[bytes, bytes, int]]:
        return database.execute(query, values).fetchall()

    return read


@contextmanager
def _writing(database: sqlite3.Connection) -> Iterator[None]:
    """Write all that follows, or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _make_tables(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before anything else is in the file
    database.executescript(_SETTINGS)
    with _writing(database):
        if _version(database) is not None:
            return  # another process was faster
        for statement in _TABLES.split(";"):
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {_VERSION}")


def _version(database: sqlite3.Connection) -> int | None:
    """The version of the tables of a file; None for a file in which nothing is yet."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchone():
        return None
    return int(version)


def _pages(database: sqlite3.Connection, what: str) -> int:
    return int(database.execute(f"PRAGMA {what}").fetchone()[0])


def _size_bytes(database: sqlite3.Connection) -> int:
    """What the entries of a file take, without the room that is free in it."""
    used = _pages(database, "page_count") - _pages(database, "freelist_count")
    return used * _pages(database, "page_size")


def _free_bytes(database: sqlite3.Connection) -> int:
    return _pages(database, "freelist_count") * _pages(database, "page_size")


def _shrink(database: sqlite3.Connection) -> None:
    """Give room that is free back to the disk."""
    database.execute("PRAGMA incremental_vacuum").fetchall()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _was_ours(path: Path) -> bool:
    """Whether a broken file is one that was made here: as far as it goes, it says so."""
    try:
        with path.open("rb") as file:
            head = file.read(_APPLICATION_AT + 4)
    except OSError:
        return False
    told = head[_APPLICATION_AT:]
    return _HEADER.startswith(head[: len(_HEADER)]) and _APPLICATION.to_bytes(4, "big").startswith(
        told
    )


def _is_locked(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )


def _is_broken(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    )
