"""One HTML file that says what a replay found, and how each of its numbers was reached."""
