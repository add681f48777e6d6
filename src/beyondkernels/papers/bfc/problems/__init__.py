"""The learning problems of the backward-feature-correction paper: quadratic target networks and their inputs."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.bfc.problems.assumptions import (
    Constant as Constant,
    check_inputs as check_inputs,
    degree_constant as degree_constant,
    isotropy as isotropy,
    moment_constant as moment_constant,
    tail_constant as tail_constant,
)
from beyondkernels.papers.bfc.problems.graph import (
    Graph as Graph,
    require_graph as require_graph,
    require_wiring as require_wiring,
    skip_graph as skip_graph,
)
from beyondkernels.papers.bfc.problems.hard import even_target as even_target, sparse_target as sparse_target
from beyondkernels.papers.bfc.problems.inputs import (
    GaussianInputs as GaussianInputs,
    GivenInputs as GivenInputs,
    MixtureOfGaussians as MixtureOfGaussians,
    QuadraticInputs as QuadraticInputs,
    SphereInputs as SphereInputs,
    UniformInputs as UniformInputs,
    drawn_mixture as drawn_mixture,
)
from beyondkernels.papers.bfc.problems.labels import (
    Agnostic as Agnostic,
    Classified as Classified,
    Relabelled as Relabelled,
)
from beyondkernels.papers.bfc.problems.layered import LayeredProblem as LayeredProblem
from beyondkernels.papers.bfc.problems.polynomials import Polynomials as Polynomials
from beyondkernels.papers.bfc.problems.target import QuadraticTarget as QuadraticTarget
from beyondkernels.papers.bfc.problems.toys import FirstToy as FirstToy, SecondToy as SecondToy

_check_exports(globals())
