"""Data that is given: finite sets of points and labels, split once."""

from beyondkernels.problems.data.given import DataWarning, GivenData
from beyondkernels.problems.data.splitting import given

__all__ = ["DataWarning", "GivenData", "given"]
