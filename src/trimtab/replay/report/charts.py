"""The charts of a session and the one table that they are drawn from.

The script reads the table, so a chart cannot show what its table does not say,
and without a script the table is all there.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.replay.report.figures import counted, number, spent
from trimtab.replay.report.markup import Child, Html, tag
from trimtab.replay.report.tables import Column, table
from trimtab.replay.report.turns import Row, events_of

__all__ = ["bill_chart", "cache_chart", "size_chart", "turn_table"]

_COLUMNS = (
    Column("request", key="turn", is_head=True),
    Column("sent", key="sent"),
    Column("foretold", key="foretold"),
    Column("billed as recorded", key="billed"),
    Column("nothing removed", key="whole"),
    Column("trigger", key="trigger"),
    Column("limit", key="limit"),
    Column("window", key="window"),
    Column("turns until the trigger", key="left"),
    Column("from the cache", key="read"),
    Column("written to it", key="written"),
    Column("fresh", key="fresh"),
    Column("answer", key="output"),
    Column("bill so far, trimtab", key="ours"),
    Column("bill so far, nothing removed", key="nothing"),
    Column("bill so far, as recorded", key="client"),
    Column("what happened", is_figure=False, key="events"),
)


def size_chart(name: str, rows: Sequence[Row]) -> Html:
    """How large each request is, against its limit and the size at which it is compacted."""
    first, last = rows[0], rows[-1]
    largest = max(row.turn.whole_tokens for row in rows)
    sent = max(row.turn.sent_tokens for row in rows)
    cuts = sum(row.is_compacted for row in rows)
    words = (
        f"Tokens of each request: {number(first.turn.sent_tokens)} in the first, "
        f"{number(last.turn.sent_tokens)} in the last, {number(sent)} in the largest; with nothing removed, "
        f"{number(largest)} in the largest. {counted(cuts, 'compaction')}. A compaction is planned from "
        f"{number(last.turn.trigger_tokens)} tokens on, the limit is {number(last.limit_tokens)}"
    )
    window = last.turn.window_tokens
    words += f", the model's window {number(window)}." if window is not None else "."
    return _chart("size", name, "Size of each request", words)


def cache_chart(name: str, rows: Sequence[Row]) -> Html:
    """How each request is billed: read from the cache, written to it, fresh."""
    turns = [row.turn for row in rows]
    read, written, fresh = (
        sum(turn.read for turn in turns),
        sum(turn.written for turn in turns),
        sum(turn.fresh for turn in turns),
    )
    total = max(1, read + written + fresh)
    words = (
        f"Input of all requests: {read / total:.0%} read from the provider's cache, "
        f"{written / total:.0%} written to it, {fresh / total:.0%} fresh."
    )
    return _chart("cache", name, "How each request is billed", words)


def bill_chart(name: str, rows: Sequence[Row]) -> Html:
    """What everything up to a request has cost, three ways."""
    ours, nothing, client = rows[-1].bills
    words = (
        f"At the end: {spent(ours)} with trimtab, {spent(nothing)} with nothing removed, "
        f"{spent(client)} as the client sent it. What was missed is not in this chart."
    )
    return _chart("bill", name, "The bill so far", words)


def _chart(kind: str, name: str, title: str, words: str) -> Html:
    """A place for a chart; the words say the same to those who cannot see it."""
    drawn = tag(
        "div",
        class_="chart",
        role="img",
        aria_label=f"{title}. {words}",
        data_chart=kind,
        data_table=name,
    )
    key = tag("div", class_="key", aria_hidden="true")
    return tag("figure", tag("figcaption", tag("strong", title), " ", words), key, drawn)


def turn_table(name: str, rows: Sequence[Row], total: int) -> Html:
    """All that the charts are drawn from.

    Args:
        name: Its id.
        rows: The turns that are shown.
        total: How many there are.
    """
    shown = (
        "every request"
        if len(rows) == total
        else f"{number(len(rows))} of {number(total)} requests"
    )
    caption = f"The numbers of the charts, in tokens and money: {shown}"
    made = table(caption, _COLUMNS, map(_cells, rows), name=name)
    words = _thinned(len(rows), total) if len(rows) < total else ""
    if any(row.turn.billed_tokens is None for row in rows):
        words += " “Billed as recorded” is empty where the log holds no bill of a request."
    note = tag("p", words.strip(), class_="note") if words else None
    return tag("details", tag("summary", caption), note, made, class_="numbers")


def _thinned(shown: int, total: int) -> str:
    return (
        f"{number(total - shown)} requests on which little happened are left out of the charts and this "
        "table, so that the file stays small. Sums, and the bill so far, count every request."
    )


def _cells(row: Row) -> list[Child]:
    turn = row.turn
    left = None if row.forecast is None else row.forecast.turns_left
    ours, nothing, client = row.bills
    return [
        number(row.place),
        number(turn.sent_tokens),
        number(row.foretold_tokens),
        "" if turn.billed_tokens is None else number(turn.billed_tokens),
        number(turn.whole_tokens),
        number(turn.trigger_tokens),
        number(row.limit_tokens),
        "" if turn.window_tokens is None else number(turn.window_tokens),
        "" if left is None else number(left),
        number(turn.read),
        number(turn.written),
        number(turn.fresh),
        number(turn.output),
        spent(ours),
        spent(nothing),
        spent(client),
        events_of(row),
    ]
