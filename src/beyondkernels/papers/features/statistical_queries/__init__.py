"""The statistical-query model: oracles with a tolerance and a budget, the dimension of a class, Theorem 4's bound."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.features.statistical_queries.bounds import (
    class_size as class_size,
    exposed_share as exposed_share,
    guess as guess,
    guess_advantage as guess_advantage,
    learnable_share as learnable_share,
    mean_queries as mean_queries,
    theorem4 as theorem4,
)
from beyondkernels.papers.features.statistical_queries.certificate import (
    StatisticalQueryCertificate as StatisticalQueryCertificate,
    certify_queries as certify_queries,
)
from beyondkernels.papers.features.statistical_queries.descent import QueriedDescent as QueriedDescent
from beyondkernels.papers.features.statistical_queries.dimension import (
    Dimension as Dimension,
    class_correlations as class_correlations,
    dimension as dimension,
)
from beyondkernels.papers.features.statistical_queries.learner import QueryLearner as QueryLearner
from beyondkernels.papers.features.statistical_queries.oracle import (
    AdversarialOracle as AdversarialOracle,
    BudgetSpentError as BudgetSpentError,
    Oracle as Oracle,
    SampledOracle as SampledOracle,
    samples_for as samples_for,
)
from beyondkernels.papers.features.statistical_queries.queries import Query as Query
from beyondkernels.papers.features.statistical_queries.rule import Hypothesis as Hypothesis, QueryMethod as QueryMethod
from beyondkernels.papers.features.statistical_queries.search import (
    CorrelationSearch as CorrelationSearch,
    Guess as Guess,
)

_check_exports(globals())
