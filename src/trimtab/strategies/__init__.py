"""Ways to make a history smaller, one file each: pure functions from a history to edits.

::

    clip_tool_output     old tool results keep their first and last lines
    drop_middle          head, marker, and the longest tail that fits
    keep_within_budget   what is protected, and as much of the newest as fits
    clip_newest          the newest exchange's results, when nothing else makes it fit

``ladder.py`` climbs them in this order until the target is met. To add one,
write a file beside these and give it its place there.
"""
