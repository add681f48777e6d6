"""Benchmarks against the usual alternatives: ratios of time and of memory. Machines are noisy: no test."""

from beyondkernels.bench.base import BENCHMARKS, Row, bench, document

__all__ = ["BENCHMARKS", "Row", "bench", "document"]
