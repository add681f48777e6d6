"""Allen-Zhu & Li, 2019: three-layer ResNets against kernels.

README.md in this folder says where each theorem, figure and table of the paper stands in the code. Every public name is
here, so that ``bk.resnet.NAME`` is all a user types; the rooms load on first use.
"""

from __future__ import annotations

from beyondkernels.core.rooms import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from beyondkernels.papers.resnet.certificates import *
    from beyondkernels.papers.resnet.measurements import *
    from beyondkernels.papers.resnet.networks import *
    from beyondkernels.papers.resnet.problems import *
    from beyondkernels.papers.resnet.theory import *

__getattr__, __dir__ = lazily(
    __name__,
    (
        "problems",
        "networks",
        "theory",
        "measurements",
        "certificates",
    ),
)
