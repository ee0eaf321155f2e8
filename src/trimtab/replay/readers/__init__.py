"""One file a kind of recording; ``replay/files.py`` asks each whether it knows a file."""
