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

Each of them has its own help, such as ``help(bk.run)``. ``bk.networks``, ``bk.kernels``, ``bk.algorithms``,
``bk.data`` and ``bk.measure`` hold what serves any problem. What belongs to one paper has the paper's name:
``bk.resnet``, ``bk.overparam``, ``bk.features`` and ``bk.bfc`` hold its problems, networks, theorems and measurements.
Everything loads on first use, so that ``import beyondkernels`` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from beyondkernels import (
        activations as activations,
        algorithms as algorithms,
        auditing as auditing,
        bench as bench,
        certificates as certificates,
        core as core,
        data as data,
        engine as engine,
        execution as execution,
        kernels as kernels,
        lab as lab,
        learning as learning,
        measure as measure,
        networks as networks,
        papers as papers,
        store as store,
    )
    from beyondkernels.auditing import audit as audit, audit_many as audit_many
    from beyondkernels.certificates import certify as certify
    from beyondkernels.lab.request import run as run
    from beyondkernels.learning import (
        compare as compare,
        fit as fit,
        fit_many as fit_many,
        grid as grid,
        one_two_five as one_two_five,
    )
    from beyondkernels.papers import bfc as bfc, features as features, overparam as overparam, resnet as resnet

__version__ = "0.2.0"

LAYERS = (
    "core",
    "activations",
    "data",
    "networks",
    "kernels",
    "certificates",
    "algorithms",
    "engine",
    "measure",
    "store",
    "execution",
    "learning",
    "lab",
    "auditing",
    "papers",
    "bench",
    "cli",
)
"""The packages in the order data flows through them: each imports only those before it."""

_FUNCTIONS = {
    "fit": "learning",
    "compare": "learning",
    "fit_many": "learning",
    "grid": "learning",
    "one_two_five": "learning",
    "run": "lab.request",
    "certify": "certificates",
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
    if not name.startswith("_"):  # perhaps a paper
        from beyondkernels.lab.papers import paper_of

        if (paper := paper_of(name)) is not None:
            return importlib.import_module(paper.package)
    raise AttributeError(f"module 'beyondkernels' has no attribute {name!r}")


def __dir__() -> list[str]:
    from beyondkernels.lab.papers import PAPERS

    return sorted([*__all__, *PAPERS, "__version__", "__doc__"])
