"""Allen-Zhu, Li & Liang, 2019: overparameterised networks of two and three layers.

README.md in this folder says where each theorem, figure and table of the paper stands in the code. Every public name is
here, so that ``bk.overparam.NAME`` is all a user types; the rooms load on first use.
"""

from __future__ import annotations

from beyondkernels.core.rooms import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from beyondkernels.papers.overparam.algorithms import *
    from beyondkernels.papers.overparam.measurements import *
    from beyondkernels.papers.overparam.networks import *
    from beyondkernels.papers.overparam.problems import *
    from beyondkernels.papers.overparam.theory import *

__getattr__, __dir__ = lazily(
    __name__,
    (
        "problems",
        "networks",
        "theory",
        "algorithms",
        "measurements",
    ),
)
