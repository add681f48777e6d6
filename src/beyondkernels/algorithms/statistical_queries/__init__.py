"""Learners of the statistical-query model, written against an oracle alone."""

from beyondkernels.algorithms.statistical_queries.base import Hypothesis, QueryMethod
from beyondkernels.algorithms.statistical_queries.descent import QueriedDescent
from beyondkernels.algorithms.statistical_queries.learner import QueryLearner
from beyondkernels.algorithms.statistical_queries.search import CorrelationSearch, Guess

__all__ = ["CorrelationSearch", "Guess", "Hypothesis", "QueriedDescent", "QueryLearner", "QueryMethod"]
