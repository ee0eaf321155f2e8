"""Ways to make a history smaller, one file each: pure functions from a history to edits.

::

    evict_superseded     results that a newer call repeats become a line
    collapse_failures    of the same failure, repeated, the newest stays
    thin_old_results     old results keep both ends and the lines that tell of failures
    clip_tool_output     long results keep their first and last lines
    one_line_turns       old answers become a line each, their results go
    drop_middle          head, marker, and the longest tail that fits
    keep_within_budget   what is protected, and as much of the newest as fits
    clip_newest          the newest exchange's results, when nothing else makes it fit
    mask_old_results     old results go, each leaves a line: a simple policy to compare with

``ladder.py`` climbs them in this order until the target is met. To add one,
write a file beside these and give it its place there.
"""
