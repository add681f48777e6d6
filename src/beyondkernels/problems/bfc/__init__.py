"""The learning problems of the backward-feature-correction paper: quadratic target networks and their inputs."""

from beyondkernels.problems.bfc.assumptions import (
    Constant,
    check_inputs,
    degree_constant,
    isotropy,
    moment_constant,
    tail_constant,
)
from beyondkernels.problems.bfc.graph import Graph, require_graph, require_wiring, skip_graph
from beyondkernels.problems.bfc.hard import even_target, sparse_target
from beyondkernels.problems.bfc.inputs import (
    GaussianInputs,
    GivenInputs,
    MixtureOfGaussians,
    QuadraticInputs,
    SphereInputs,
    UniformInputs,
    drawn_mixture,
)
from beyondkernels.problems.bfc.labels import Agnostic, Classified, Relabelled
from beyondkernels.problems.bfc.layered import LayeredProblem
from beyondkernels.problems.bfc.moments import Estimate
from beyondkernels.problems.bfc.polynomials import Polynomials
from beyondkernels.problems.bfc.target import QuadraticTarget
from beyondkernels.problems.bfc.toys import FirstToy, SecondToy

__all__ = [
    "Agnostic",
    "Classified",
    "Constant",
    "Estimate",
    "FirstToy",
    "GaussianInputs",
    "GivenInputs",
    "Graph",
    "LayeredProblem",
    "MixtureOfGaussians",
    "Polynomials",
    "QuadraticInputs",
    "QuadraticTarget",
    "Relabelled",
    "SecondToy",
    "SphereInputs",
    "UniformInputs",
    "check_inputs",
    "degree_constant",
    "drawn_mixture",
    "even_target",
    "isotropy",
    "moment_constant",
    "require_graph",
    "require_wiring",
    "skip_graph",
    "sparse_target",
    "tail_constant",
]
