"""How fast and how lean we are, as ratios to what else could be used. Benchmarks are not tests: machines are noisy."""

from beyondkernels.bench.base import BENCHMARKS, Row, bench

__all__ = ["BENCHMARKS", "Row", "bench"]
