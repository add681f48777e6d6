"""The laboratory: declare an experiment, run it, judge it, show it.

What a declaration needs is here by its name alone: ``from beyondkernels.lab import Experiment, Runs, setting``.
"""

from beyondkernels.core.rooms import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from beyondkernels.lab.declaration import *
    from beyondkernels.lab.report import *
    from beyondkernels.lab.request import *

__getattr__, __dir__ = lazily(__name__, ("declaration", "request", "report"))
