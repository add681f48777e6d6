"""Allen-Zhu & Li, What can ResNet learn efficiently, going beyond kernels: Theorem 1 and what it needs."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.resnet.theory.anchored import anchored_theorem1 as anchored_theorem1
from beyondkernels.papers.resnet.theory.closed_form import ClosedForm as ClosedForm, closed_form as closed_form
from beyondkernels.papers.resnet.theory.concept_complexity import (
    ConceptComplexity as ConceptComplexity,
    MapComplexity as MapComplexity,
    concept_complexity as concept_complexity,
    lipschitz_bound as lipschitz_bound,
    map_complexity as map_complexity,
)
from beyondkernels.papers.resnet.theory.concept_sizes import ConceptSizes as ConceptSizes
from beyondkernels.papers.resnet.theory.minimal_norm import (
    least_norm as least_norm,
    minimal_network as minimal_network,
    parity_norm as parity_norm,
)
from beyondkernels.papers.resnet.theory.ranges import (
    Theorem1Ranges as Theorem1Ranges,
    radius_excess as radius_excess,
    radius_ranges as radius_ranges,
)
from beyondkernels.papers.resnet.theory.theorem1 import (
    Theorem1Constants as Theorem1Constants,
    Theorem1Settings as Theorem1Settings,
    theorem1 as theorem1,
)
from beyondkernels.papers.resnet.theory.witness import least_witness as least_witness

_check_exports(globals())
