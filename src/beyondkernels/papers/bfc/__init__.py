"""Allen-Zhu & Li, 2020: backward feature correction in deep quadratic networks.

README.md in this folder says where each theorem, figure and table of the paper stands in the code. Every public name is
here, so that ``bk.bfc.NAME`` is all a user types; the rooms load on first use.
"""

from __future__ import annotations

from beyondkernels.core.rooms import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from beyondkernels.papers.bfc.algorithms import *
    from beyondkernels.papers.bfc.certificates import *
    from beyondkernels.papers.bfc.measurements import *
    from beyondkernels.papers.bfc.networks import *
    from beyondkernels.papers.bfc.problems import *
    from beyondkernels.papers.bfc.theory import *

__getattr__, __dir__ = lazily(
    __name__,
    (
        "problems",
        "networks",
        "theory",
        "algorithms",
        "measurements",
        "certificates",
    ),
)
