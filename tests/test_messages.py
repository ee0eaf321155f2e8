"""Messages and parts are values."""

from __future__ import annotations

from trimtab import Media, Message, Opaque, Surface, Text, Thinking, Tool, ToolCall, ToolResult


def test_a_message_knows_its_calls_and_results() -> None:
    """Ids are told in order, without looking at the parts again."""
    asked = Message.assistant("hm", ToolCall("a", "look", "{}"), ToolCall("b", "look", "{}"))
    answered = Message("user", [ToolResult("b", ()), ToolResult("a", ())])
    mixed = Message("user", [ToolResult("b", ()), Text("and?")])

    assert (asked.call_ids, asked.has_own_words) == (("a", "b"), True)
    assert (answered.result_ids, answered.has_own_words) == (("b", "a"), False)
    assert (mixed.result_ids, mixed.has_own_words) == (("b",), True)


def test_a_deferred_message_is_the_same_as_one_that_holds_its_parts() -> None:
    """Nothing downstream can tell whether parts are decoded at each look."""
    parts = (Text("hm"), ToolCall("a", "look", "{}"))
    looks = []

    def load() -> tuple[Text | ToolCall, ...]:
        looks.append(1)
        return parts

    deferred = Message.deferred("assistant", load, call_ids=("a",))

    assert looks == []
    assert deferred == Message("assistant", parts)
    assert deferred.call_ids == ("a",)
    assert looks == [1]


def test_messages_differ_by_role_parts_and_origin() -> None:
    """Equal is what is equal in all three."""
    assert Message.user("a") != Message.assistant("a")
    assert Message.user("a") != Message.user("b")
    assert Message.user("a") != Message.user("a", origin="marker")
    assert Message.user("a") != "a"


def test_the_short_ways_say_who_speaks() -> None:
    """Each role has a constructor; strings become text."""
    assert Message.system("s") == Message("system", [Text("s")])
    assert Message.tool("c", "r", is_error=True) == Message(
        "tool", [ToolResult("c", (Text("r"),), is_error=True)]
    )
    assert Message.user("a", Text("b")).text == "a\nb"


def test_a_result_reads_as_its_texts() -> None:
    """Pictures between texts are left out."""
    assert ToolResult("c", (Text("a"), Media("image"), Text("b"))).text == "a\nb"


def test_representations_hold_no_words() -> None:
    """A message, a payload and a definition say what they are, not what is in them."""
    told = repr(
        [
            Message.assistant("sesame", ToolCall("c", "look", "{}"), origin="filler"),
            Message.tool("c", "sesame"),
            Media("image", data="sesame", location="sesame"),
            Opaque("x", "sesame"),
            Thinking("", "sesame"),
            Surface("m", (Text("sesame"),), (Tool("t", "sesame", "sesame", "sesame"),), "sesame"),
        ]
    )

    assert "sesame" not in told
    assert "<Message assistant, calls=1, origin='filler'>" in told
    assert "<Message tool, results=1>" in told
