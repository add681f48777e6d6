"""The statistical-query model: oracles with a tolerance and a budget, the dimension of a class, Theorem 4's bound."""

from beyondkernels.theory.statistical_queries.bounds import (
    class_size,
    exposed_share,
    guess,
    guess_advantage,
    learnable_share,
    mean_queries,
    theorem4,
)
from beyondkernels.theory.statistical_queries.certificate import StatisticalQueryCertificate, certify_queries
from beyondkernels.theory.statistical_queries.dimension import Dimension, class_correlations, dimension
from beyondkernels.theory.statistical_queries.oracle import (
    AdversarialOracle,
    BudgetSpentError,
    Oracle,
    SampledOracle,
    samples_for,
)
from beyondkernels.theory.statistical_queries.queries import Query

__all__ = [
    "AdversarialOracle",
    "BudgetSpentError",
    "Dimension",
    "Oracle",
    "Query",
    "SampledOracle",
    "StatisticalQueryCertificate",
    "certify_queries",
    "class_correlations",
    "class_size",
    "dimension",
    "exposed_share",
    "guess",
    "guess_advantage",
    "learnable_share",
    "mean_queries",
    "samples_for",
    "theorem4",
]
