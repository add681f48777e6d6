"""Benchmarks against the usual alternatives: ratios of time and of memory. Machines are noisy: no test."""

from beyondkernels.bench.base import BENCHMARKS as BENCHMARKS, Row as Row, bench as bench, document as document
from beyondkernels.core.boundary import check_exports as _check_exports

_check_exports(globals())
