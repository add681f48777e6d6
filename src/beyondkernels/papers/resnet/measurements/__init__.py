"""Measurements for the paper on ResNets: coupling with the start, regret, learnt signals, ridge paths."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.resnet.measurements.coupling import (
    Coupling as Coupling,
    CouplingTerms as CouplingTerms,
    coupling_bounds as coupling_bounds,
    coupling_terms as coupling_terms,
)
from beyondkernels.papers.resnet.measurements.existence import (
    Witness as Witness,
    existence_errors as existence_errors,
    gate_bounds as gate_bounds,
)
from beyondkernels.papers.resnet.measurements.learnt import LearntSignals as LearntSignals
from beyondkernels.papers.resnet.measurements.proof import (
    error_along as error_along,
    regret_along as regret_along,
    regret_ratio as regret_ratio,
    terms_at as terms_at,
)
from beyondkernels.papers.resnet.measurements.regret import (
    Regret as Regret,
    RegretTerms as RegretTerms,
    along as along,
    error_bound as error_bound,
    regret_terms as regret_terms,
)
from beyondkernels.papers.resnet.measurements.ridge_path import (
    on_path_edge as on_path_edge,
    ridge_choices as ridge_choices,
)

_check_exports(globals())
