"""Build a conversation into both formats, and see what a provider would say to it.

Run it: ``.venv/bin/python examples/build_and_check.py``
"""

from __future__ import annotations

from trimtab import Message, Surface, ToolCall, wire

CONVERSATION = [
    Message.system("Be brief."),
    Message.user("What is in the folder?"),
    Message.assistant(ToolCall("call_1", "list_dir", '{"path": "."}')),
    Message.tool("call_1", "README.md\nsrc"),
    Message.user("And in src?"),
]


def main() -> None:
    """Build, check, break, check again."""
    for name, model in (("anthropic", "claude-opus-4-6"), ("openai-chat", "gpt-5.6")):
        body = wire.build(CONVERSATION, name, surface=Surface(model))
        print(f"{name}: {len(body)} bytes, problems: {wire.check(body, name)}")

        orphaned = [message for message in CONVERSATION if not message.call_ids]
        broken = wire.build(orphaned, name, surface=Surface(model))
        for problem in wire.check(broken, name):
            print(f"  without its call: {problem.rule} at {problem.path}: {problem.message}")


if __name__ == "__main__":
    main()
