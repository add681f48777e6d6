"""Random streams, components and their identity, error sentences, places in papers."""

from typing import TYPE_CHECKING

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.core.components import (
    Component as Component,
    build as build,
    canonical_json as canonical_json,
    describe as describe,
    digest as digest,
    later as later,
    load_file as load_file,
)
from beyondkernels.core.contracts import (
    Case as Case,
    Checkpoint as Checkpoint,
    Ended as Ended,
    Learner as Learner,
    Measured as Measured,
    Outcome as Outcome,
    Problem as Problem,
    Progress as Progress,
    Sample as Sample,
    Saved as Saved,
    Tensors as Tensors,
)
from beyondkernels.core.declarations import speaks_for as speaks_for
from beyondkernels.core.errors import (
    DivergedError as DivergedError,
    InputError as InputError,
    StoreError as StoreError,
    UncacheableError as UncacheableError,
    require as require,
    require_between as require_between,
    require_positive as require_positive,
    require_whole as require_whole,
    shown as shown,
    unknown as unknown,
)
from beyondkernels.core.estimates import Estimate as Estimate
from beyondkernels.core.fields import Checked as Checked
from beyondkernels.core.hypotheses import Hypothesis as Hypothesis
from beyondkernels.core.papers import Paper as Paper, Reference as Reference
from beyondkernels.core.points import (
    Shape as Shape,
    batch_shape as batch_shape,
    on_device as on_device,
    shape_of as shape_of,
    size_of as size_of,
    vectors as vectors,
)
from beyondkernels.core.rooms import lazily
from beyondkernels.core.rounding import settled as settled

if TYPE_CHECKING:
    from beyondkernels.core.scores import accuracy as accuracy, are_classes as are_classes, hits as hits
    from beyondkernels.core.streams import Stream as Stream, seeded_globally as seeded_globally

# NumPy and torch take their time, and the command line often needs neither
__getattr__, __dir__ = lazily(__name__, ("scores", "streams"))

_check_exports(globals())
