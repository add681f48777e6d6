"""Shi, Wei & Liang, 2022: feature learning from the structure of inputs.

README.md in this folder says where each theorem, figure and table of the paper stands in the code. Every public name is
here, so that ``bk.features.NAME`` is all a user types; the rooms load on first use.
"""

from __future__ import annotations

from beyondkernels.core.rooms import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from beyondkernels.papers.features.measurements import *
    from beyondkernels.papers.features.problems import *
    from beyondkernels.papers.features.statistical_queries import *
    from beyondkernels.papers.features.theory import *

__getattr__, __dir__ = lazily(
    __name__,
    (
        "problems",
        "theory",
        "measurements",
        "statistical_queries",
    ),
)
