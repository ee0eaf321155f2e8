"""Which counter a model gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tokens.bare_python import run_without_bpe
from trimtab.tokens import counter_for

O200K, CL100K = ("o200k_base", "exact"), ("cl100k_base", "exact")
CLAUDE, OLDER_CLAUDE = ("o200k_base x 1.6", "estimate"), ("o200k_base x 1.25", "estimate")
UNKNOWN = ("o200k_base x 1", "estimate")

MODELS = [
    ("gpt-4o", O200K),
    ("gpt-4o-mini-2024-07-18", O200K),
    ("chatgpt-4o-latest", O200K),
    ("gpt-4.1-nano", O200K),
    ("gpt-4.5-preview", O200K),
    ("gpt-5", O200K),
    ("gpt-5.6", O200K),
    ("gpt-5.2-codex", O200K),
    ("GPT-6", O200K),
    ("o1", O200K),
    ("o3-mini", O200K),
    ("o4-mini-2025-04-16", O200K),
    ("openai/gpt-5-mini", O200K),
    ("azure:gpt-4o", O200K),
    ("ft:gpt-4o-2024-08-06:org::id", O200K),
    ("openai.gpt-oss-120b-1:0", O200K),
    ("gpt-4", CL100K),
    ("gpt-4-0613", CL100K),
    ("gpt-4-turbo-2024-04-09", CL100K),
    ("gpt-4-32k", CL100K),
    ("gpt-3.5-turbo", CL100K),
    ("gpt-35-turbo", CL100K),
    ("openai/gpt-4-turbo", CL100K),
    ("claude-opus-4-7", CLAUDE),
    ("claude-opus-4.8", CLAUDE),
    ("claude-4.8-opus", CLAUDE),
    ("claude-opus-4-10", CLAUDE),
    ("claude-opus-5-5", CLAUDE),
    ("claude-sonnet-5", CLAUDE),
    ("claude-fable-5-2", CLAUDE),
    ("claude-next", CLAUDE),
    ("us.anthropic.claude-opus-4-8-v1:0", CLAUDE),
    ("claude-opus-4-6", OLDER_CLAUDE),
    ("claude-opus-4-1-20250805", OLDER_CLAUDE),
    ("claude-sonnet-4-20250514", OLDER_CLAUDE),
    ("claude-sonnet-4@20250514", OLDER_CLAUDE),
    ("claude-sonnet-4-5", OLDER_CLAUDE),
    ("claude-4.5-sonnet", OLDER_CLAUDE),
    ("claude-4-opus-20250514", OLDER_CLAUDE),
    ("claude-haiku-4.5", OLDER_CLAUDE),
    ("anthropic/claude-sonnet-4.6", OLDER_CLAUDE),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", OLDER_CLAUDE),
    ("claude-3-5-sonnet-20241022", OLDER_CLAUDE),
    ("claude-2.1", OLDER_CLAUDE),
    ("claude-instant-1.2", OLDER_CLAUDE),
    ("", UNKNOWN),
    ("unknown", UNKNOWN),
    ("llama-3.3-70b", UNKNOWN),
    ("gemini-3-pro", UNKNOWN),
    ("qwen3-coder", UNKNOWN),
    ("my-o1", UNKNOWN),
    ("co1", UNKNOWN),
    ("gpt-4all", UNKNOWN),
]


@pytest.mark.parametrize(("model", "told"), MODELS)
def test_a_model_gets_the_best_counter_that_is_installed(model: str, told: tuple[str, str]) -> None:
    """OpenAI's models are counted exactly, Claude's stretched by age, others as OpenAI's newest."""
    counter = counter_for(model)

    assert (counter.name, counter.quality) == told


CHARACTERS = ["characters", "estimate"]
CHOOSE = """
import json
from trimtab.tokens import counter_for
models = {models!r}
counters = [counter_for(model) for model in models]
print(json.dumps([[counter.name, counter.quality, counter.count("x" * 40)] for counter in counters]))
"""


def test_without_a_vocabulary_characters_are_counted(tmp_path: Path) -> None:
    """Claude's are taken as 2.5 characters a token, all others as 4; nothing is downloaded."""
    code = CHOOSE.format(models=["gpt-5.6", "gpt-4", "llama", "claude-opus-5"])

    printed = run_without_bpe(code, TIKTOKEN_CACHE_DIR=str(tmp_path))

    assert json.loads(printed) == [
        [*CHARACTERS, 10],
        [*CHARACTERS, 10],
        [*CHARACTERS, 10],
        ["characters x 1.6", "estimate", 16],
    ]
