"""The learning problems of the ResNet paper: composite targets, hard instances, and the monomial of §8.2."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.resnet.problems.composite import CompositeProblem as CompositeProblem
from beyondkernels.papers.resnet.problems.general import (
    DrawnGeneralMap as DrawnGeneralMap,
    GeneralForm as GeneralForm,
    GeneralMap as GeneralMap,
)
from beyondkernels.papers.resnet.problems.hard import HardInstance as HardInstance
from beyondkernels.papers.resnet.problems.linear_base import LinearThenPolynomial as LinearThenPolynomial
from beyondkernels.papers.resnet.problems.monomial import (
    AllPoints as AllPoints,
    Monomial as Monomial,
    widened as widened,
)
from beyondkernels.papers.resnet.problems.parity import CompositeParity as CompositeParity
from beyondkernels.papers.resnet.problems.powers import (
    product_as_powers as product_as_powers,
    product_map as product_map,
)
from beyondkernels.papers.resnet.problems.smooth import SmoothComposite as SmoothComposite
from beyondkernels.papers.resnet.problems.spectrum import distance as distance

_check_exports(globals())
