"""Which columns of the registry of operators scripts have filled: functions of theirs that compilation may call.

`Op.set_attr` notes them. Most programs register nothing: then nobody looks for rules, and what was compiled may be kept
for the next process, which is not so where functions take part of which nothing tells what they compute.
"""

from __future__ import annotations

FILLED: set[str] = set()
"""Names of columns; they stay when an operator's column is reset."""
LEGALIZE = "FLegalize"
"""The column of Relax's operators for what LegalizeOps puts in their place: a function `(builder, call)`."""
