"""A laboratory for one question: when do networks learn features that no kernel and no fixed feature map can match?

Begin with::

    import beyondkernels as bk

    bk.run("features/table1")                       an experiment of a paper, as bk run does it
    bk.fit(network, problem, n=1000, ...)           train one network on a sample of a problem
    bk.compare(problem, n=1000, learners={...})     networks and kernels on the same samples
    bk.fit_many(network, problem, n=1000, grid=...) one network at every point of a grid
    bk.certify(kernel, problem, n=100)              what no predictor with this kernel can do
    bk.audit(model, train, test)                    how much of a model's accuracy comes from learning features
    bk.audit_many({...}, train, test)               the same of several models, side by side

Each of them has its own help, such as ``help(bk.run)``. ``bk.problems``, ``bk.networks``, ``bk.kernels`` and
``bk.algorithms`` hold what they take; ``bk.measure`` and ``bk.theory`` hold what is measured and what is proved.
Subpackages and functions load on first use, so that ``import beyondkernels`` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from beyondkernels import activations as activations
    from beyondkernels import algorithms as algorithms
    from beyondkernels import auditing as auditing
    from beyondkernels import bench as bench
    from beyondkernels import core as core
    from beyondkernels import engine as engine
    from beyondkernels import experiments as experiments
    from beyondkernels import frame as frame
    from beyondkernels import kernels as kernels
    from beyondkernels import measure as measure
    from beyondkernels import networks as networks
    from beyondkernels import problems as problems
    from beyondkernels import reports as reports
    from beyondkernels import running as running
    from beyondkernels import runs as runs
    from beyondkernels import theory as theory
    from beyondkernels.auditing import audit as audit
    from beyondkernels.auditing import audit_many as audit_many
    from beyondkernels.running import run as run
    from beyondkernels.runs import compare as compare
    from beyondkernels.runs import fit as fit
    from beyondkernels.runs import fit_many as fit_many
    from beyondkernels.runs import grid as grid
    from beyondkernels.runs import one_two_five as one_two_five
    from beyondkernels.theory import certify as certify

__version__ = "0.2.0"

LAYERS = (
    "core",
    "activations",
    "problems",
    "networks",
    "kernels",
    "theory",
    "algorithms",
    "engine",
    "measure",
    "runs",
    "reports",
    "frame",
    "experiments",
    "running",
    "auditing",
    "bench",
    "cli",
)
"""The packages in the order data flows through them: each imports only those before it."""

_FUNCTIONS = {
    "fit": "runs",
    "compare": "runs",
    "fit_many": "runs",
    "grid": "runs",
    "one_two_five": "runs",
    "run": "running",
    "certify": "theory",
    "audit": "auditing",
    "audit_many": "auditing",
}

_PACKAGES = tuple(name for name in LAYERS if name != "cli")

__all__ = [*_FUNCTIONS, *_PACKAGES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    import importlib

    if name in LAYERS:
        return importlib.import_module(f"beyondkernels.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"beyondkernels.{_FUNCTIONS[name]}"), name)
    raise AttributeError(f"module 'beyondkernels' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "__doc__"])
