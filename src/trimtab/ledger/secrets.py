"""What is never listed: keys, tokens and passwords that some output held."""

from __future__ import annotations

import re

__all__ = ["holds_secret"]

_SECRET = re.compile(
    r"\bsk-[A-Za-z0-9_-]{8,}|\b[sr]k_(?:live|test)_\w{8,}|\b(?:AKIA|ASIA|AGPA|AIDA)[A-Z0-9]{12,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}"
    r"|\bglpat-[\w-]{12,}|\bxox[abeprs]-[\w-]{8,}|\bAIza[\w-]{20,}|\bya29\.[\w-]{16,}|\bhf_\w{16,}|\bnpm_\w{20,}|\bpypi-[\w-]{16,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{6,}|-----BEGIN [A-Z ]*(?:PRIVATE KEY|CERTIFICATE)"
    r"|\b(?:bearer|basic)\s+[\w.~+/=-]{12,}"
    r"|(?:pass(?:word|wd|phrase|code)?|pwd|secret|api[ _-]?key|access[ _-]?key|private[ _-]?key|auth[ _-]?token|access[ _-]?token"
    r"|refresh[ _-]?token|session[ _-]?token|client[ _-]?secret|credentials?|authorization|cookie|token|signature|sig)"
    r"[\"']?\s*(?:[:=]|=>|\bis\b)\s*[\"']?[^\s\"']{3,}"
    r"|://[^/\s:@]+:[^/\s@]+@",
    re.IGNORECASE,
)


def holds_secret(text: str) -> bool:
    """Whether a line seems to hold a credential."""
    return _SECRET.search(text) is not None
