"""What can go wrong, split by who can mend it.

::

    TrimtabError                  the base; never raised itself
    ├── RequestError              the input cannot be used; whoever made it can mend it
    │   ├── MalformedBodyError    not JSON, or cut off: carries the byte offset
    │   ├── UnknownFormatError    JSON, but of no format that is known
    │   ├── UnknownEncodingError  a content encoding that is not known
    │   └── BodyTooLargeError     it unpacks to more than is allowed: carries what is
    ├── PolicyError               a setting that cannot hold: names it, its value, what is allowed
    ├── TokenCountError           a counter failed or answered nonsense; nothing falls back in silence
    ├── StoreError                a conversation could not be stored or read back
    ├── SummaryError              a summarising model did not answer: says whether asking again helps
    └── MissingExtraError         an optional part is not installed: names the extra

A request that cannot be made to fit is *not* an error: it is an
:class:`~trimtab.plan.Outcome` with the numbers, because the caller has to
decide what to do with it.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BodyTooLargeError",
    "MalformedBodyError",
    "MissingExtraError",
    "PolicyError",
    "RequestError",
    "StoreError",
    "SummaryError",
    "TokenCountError",
    "TrimtabError",
    "UnknownEncodingError",
    "UnknownFormatError",
]


class TrimtabError(Exception):
    """Base of all errors of this package. Catch it to catch them all."""


class RequestError(TrimtabError):
    """The input cannot be used as it is. Raised as such for what has no class of its own."""


class MalformedBodyError(RequestError):
    """The body is not JSON, or ends too early.

    Attributes:
        offset: Where reading stopped, in bytes from the start of the body;
            None where that is not known.
    """

    def __init__(self, message: str, *, offset: int | None = None) -> None:
        super().__init__(message if offset is None else f"{message} (at byte {offset})")
        self.offset = offset


class UnknownFormatError(RequestError):
    """The body is JSON, but none of the formats that are known."""


class UnknownEncodingError(RequestError):
    """A content encoding that is not known, or too many of them. HTTP answers it with 415."""


class BodyTooLargeError(RequestError):
    """The unpacked body is larger than is allowed. HTTP answers it with 413.

    Attributes:
        limit_bytes: What is allowed.
    """

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"the body unpacks to more than {limit_bytes:,} bytes")
        self.limit_bytes = limit_bytes


class PolicyError(TrimtabError):
    """A setting that cannot hold.

    Attributes:
        setting: The name of the setting.
        value: What was given.
    """

    def __init__(self, setting: str, value: Any, allowed: str) -> None:  # noqa: ANN401 - whatever was given
        super().__init__(f"{setting} is {value!r}; {allowed}")
        self.setting = setting
        self.value = value


class TokenCountError(TrimtabError):
    """A counter raised, or answered something that is no count."""


class StoreError(TrimtabError):
    """A conversation could not be stored, or not be read back."""


class SummaryError(TrimtabError):
    """A summarising model did not answer.

    Attributes:
        is_retryable: Whether asking again may help.
        wait_seconds: How long the provider asked to wait; None where it did not say.
    """

    def __init__(
        self, message: str, *, is_retryable: bool = False, wait_seconds: float | None = None
    ) -> None:
        super().__init__(message)
        self.is_retryable = is_retryable
        self.wait_seconds = wait_seconds


class MissingExtraError(TrimtabError):
    """An optional part is needed and not installed.

    Attributes:
        extra: What to install: ``pip install 'trimtab[<extra>]'``.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'trimtab[{extra}]'")
        self.extra = extra
