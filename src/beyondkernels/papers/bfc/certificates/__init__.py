"""Lower bounds of the paper, computed and checked."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.bfc.certificates.lower_bounds import is_sparse_target as is_sparse_target
from beyondkernels.papers.bfc.certificates.neurons import NeuronCertificate as NeuronCertificate
from beyondkernels.papers.bfc.certificates.sparse_targets import (
    SparseTargetCertificate as SparseTargetCertificate,
    top_coefficient as top_coefficient,
)

_check_exports(globals())
