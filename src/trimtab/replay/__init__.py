"""People's own recorded sessions, read back into the requests that were really made."""
