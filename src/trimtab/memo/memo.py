"""Remember what was emitted for each message of a known prefix, and emit it again.

The law of this file: what is replayed is what was recorded for exactly that
prefix, and on any surprise a request goes out as if there were no memo.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, NoReturn, TypeAlias, TypeVar, cast

from trimtab.errors import PolicyError
from trimtab.links import links
from trimtab.memo.additions import additions, additions_key, joined, laid_on, lead_of
from trimtab.memo.bodies import Body, NoListError, take_apart
from trimtab.wire.markers import count_markers, with_markers_of

__all__ = ["PrefixMemo"]

BodyT = TypeVar("BodyT", bytes, str, dict[str, Any])

Key: TypeAlias = bytes
Json: TypeAlias = bytes
Salt: TypeAlias = str | bytes

_MEBIBYTE = 1024 * 1024
_NOTHING = b"{}"


class PrefixMemo:
    """What was sent for each message of the conversations that were seen last.

    A provider's cache pays only for a prefix that is the same byte for byte.
    Whatever shrinks a message may look at the whole conversation and make
    something else of an old message on each turn; a memo sends the old ones
    as they were first sent.

    Safe for threads. Nothing here raises, writes to disk or logs. A
    conversation that is too large loses its end and keeps its front.

    Args:
        max_entries: Messages that are kept at most; 0 reads and stores nothing.
        max_bytes: Bytes of JSON that are kept at most; what is larger alone is not kept.

    Raises:
        PolicyError: If a cap is below 0.
    """

    __slots__ = ("_bytes", "_entries", "_lock", "_max_bytes", "_max_entries")

    def __init__(self, max_entries: int = 4096, max_bytes: int = 64 * _MEBIBYTE) -> None:
        for setting, value in (("max_entries", max_entries), ("max_bytes", max_bytes)):
            if value < 0:
                raise PolicyError(setting, value, "it must be 0 or more")
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Key, Json] = OrderedDict()  # the one used longest ago first
        self._bytes = 0
        self._lock = Lock()

    def replay(
        self, salt: Salt, original: object, compressed: BodyT, *, has_legend: bool = False
    ) -> tuple[BodyT, int]:
        """Put the old messages of a compressed request into the forms in which they were first sent.

        Args:
            salt: Names the tenant, the wire format, and the compressor with its version and
                settings. Nothing is shared between two salts.
            original: The request as the client made it: bytes, text or a dict.
            compressed: What the compressor made of it.
            has_legend: Whether the compressed request can only be read with something that was
                built over the whole conversation; then nothing is replayed.

        Returns:
            The request to send, of the type of ``compressed``, and how many leading messages of
            ``original`` were replayed; 0 means that it is ``compressed`` itself. Neither argument
            is changed.
        """
        if has_legend or not self._max_entries:
            return compressed, 0
        try:
            body, replayed = self._replay(salt, original, compressed)
        except Exception:  # noqa: BLE001 - whatever a caller's objects do, the request goes out
            return compressed, 0
        return cast("BodyT", body), replayed

    def record(
        self, salt: Salt, original: object, sent: object, *, has_legend: bool = False
    ) -> None:
        """Remember what was really sent; not for a request that never went out or was refused.

        What is known of a prefix already stays as it is.

        Args:
            salt: As for :meth:`replay`.
            original: The request as the client made it.
            sent: What was sent for it.
            has_legend: As for :meth:`replay`; then nothing is recorded.
        """
        if has_legend or not self._max_entries:
            return
        try:
            self._record(salt, original, sent)
        except Exception:  # noqa: BLE001 - the same
            return

    @property
    def bytes(self) -> int:
        """Bytes of JSON that are kept; at most ``max_bytes``."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<PrefixMemo, {len(self)} entries, {self._bytes} of {self._max_bytes} bytes>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a PrefixMemo stays in its process: it holds what people wrote")

    # ----------------------------------------------------------- the two ways

    def _replay(self, salt: Salt, original: object, compressed: object) -> tuple[object, int]:
        asked, made = take_apart(original), take_apart(compressed)
        shift = _shift(asked, made)
        chain = links(_start(salt, asked, made), asked.forms())
        if shift is None or not chain:
            return compressed, 0
        known, added = self._known(chain, additions_key(chain[0], asked))
        if not known:
            return compressed, 0
        lead = lead_of(added, asked)
        messages = dict(enumerate(_marked(asked, made, known, shift), start=shift))
        if lead is not None and shift:
            messages[0] = lead
        new_lead = [lead] if lead is not None and not shift else []
        return made.put_together(new_lead, messages, laid_on(added, asked)), len(known)

    def _record(self, salt: Salt, original: object, sent: object) -> None:
        asked, made = take_apart(original), take_apart(sent)
        shift = _shift(asked, made)
        chain = links(_start(salt, asked, made), asked.forms())
        if shift is None or not chain:
            return
        added = additions(asked, made, is_led=bool(shift))
        forms = self._new_forms(chain, lambda place: _form(made, place + shift))
        with self._lock:
            self._keep(additions_key(chain[0], asked), added, chain, forms)

    # ------------------------------------------------------------- what is kept

    def _known(self, chain: Sequence[Key], additions_key: Key) -> tuple[list[Json], Json]:
        """The longest run from the front that is known, and what was added to its surface."""
        with self._lock:
            known = []
            for key in chain:
                form = self._entries.get(key)
                if form is None:
                    break
                known.append(form)
            # Last to first, so that the front of a conversation is what goes last.
            for key in reversed(chain[: len(known)]):
                self._entries.move_to_end(key)
            added = self._entries.get(additions_key, _NOTHING) if known else _NOTHING
            if added is not _NOTHING:
                self._entries.move_to_end(additions_key)
            return known, added

    def _new_forms(self, chain: Sequence[Key], form: Callable[[int], Json]) -> dict[Key, Json]:
        """The forms that are not known yet, up to the first message that is no JSON."""
        with self._lock:
            places = [place for place, key in enumerate(chain) if key not in self._entries]
        forms: dict[Key, Json] = {}
        for place in places:
            try:
                forms[chain[place]] = form(place)
            except NoListError:
                break
        return forms

    def _keep(
        self, additions_key: Key, added: Json, chain: Iterable[Key], forms: Mapping[Key, Json]
    ) -> None:
        """Keep of a conversation as much from its front as fits; nothing is kept in another form."""
        rows = [(key, self._entries.get(key, forms.get(key))) for key in chain]
        added = joined(self._entries.get(additions_key, _NOTHING), added)
        if added != _NOTHING:
            rows.insert(0, (additions_key, added))
        kept: dict[Key, Json] = {}
        size = 0
        for key, form in rows:
            if form is None or len(kept) == self._max_entries:
                break
            size += len(form)
            if size > self._max_bytes:
                break
            kept[key] = form
        self._put_first(kept)

    def _put_first(self, kept: dict[Key, Json]) -> None:
        """Make entries the ones used last, the first of them last of all; others make room."""
        for key in kept:
            self._forget(key)
        size = sum(map(len, kept.values()))
        most_entries, most_bytes = self._max_entries - len(kept), self._max_bytes - size
        while len(self._entries) > most_entries or self._bytes > most_bytes:
            self._forget(next(iter(self._entries)))
        for key in reversed(kept):
            self._entries[key] = kept[key]
        self._bytes += size

    def _forget(self, key: Key) -> None:
        form = self._entries.pop(key, None)
        if form is not None:
            self._bytes -= len(form)


def _start(salt: Salt, asked: Body, made: Body) -> Key:
    """The link before the first message."""
    spoken = salt.encode("utf-8", "surrogatepass") if isinstance(salt, str) else salt
    return links(b"trimtab/memo/1", (spoken, asked.field.encode(), asked.kind, made.kind))[-1]


def _shift(asked: Body, made: Body) -> int | None:
    """How many messages were put in at the front, 0 or 1; None where the two do not align."""
    if asked.field != made.field:
        return None
    if made.count == asked.count:
        return 0
    is_led = made.count == asked.count + 1 and made.is_led() and not asked.is_led()
    return 1 if is_led else None


def _form(made: Body, place: int) -> Json:
    return made.format.unmarked(made.message(place))


def _marked(asked: Body, made: Body, known: Sequence[Json], shift: int) -> Sequence[Json]:
    """Known forms with the markers of the request at hand; no more of them than it has."""
    originals = [asked.markable(place) for place in range(asked.count)]
    markers = sum(count_markers(asked.format, original) for original in originals)
    if not markers:
        return known
    fresh = range(len(known) + shift, made.count)
    others = sum(count_markers(made.format, made.markable(place)) for place in fresh)
    return with_markers_of(
        made.format, originals[: len(known)], known, most=max(0, markers - others)
    )
