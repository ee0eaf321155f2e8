"""What is never listed."""

from __future__ import annotations

import pytest

from trimtab.ledger.secrets import holds_secret


@pytest.mark.parametrize(
    ("line", "is_secret"),
    [
        ("key sk-ant-REDACTED", True),
        ("PASSWORD=hunter2", True),
        ("the password is hunter2", True),
        ("postgres://joe:pw@db", True),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", True),
        ("Authorization: Bearer abcdef0123456789", True),
        ("API_PORT=8123", False),
        ("commit a1b2c3d4e5f6", False),
        ("see https://example.com/a?b=1", False),
    ],
)
def test_credentials_are_told_from_other_values(line: str, is_secret: bool) -> None:  # noqa: FBT001
    """By their form, or by the name before them."""
    assert holds_secret(line) is is_secret
