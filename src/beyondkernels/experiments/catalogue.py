"""All experiments of the package, and how to find one."""

from __future__ import annotations

import importlib
from pathlib import Path

from beyondkernels.core import unknown
from beyondkernels.frame import Experiment
from beyondkernels.frame.loading import from_file

CATALOGUE = {
    "bfc/agnostic": "beyondkernels.experiments.bfc.agnostic:Agnostic",
    "bfc/classification": "beyondkernels.experiments.bfc.classification:Classification",
    "bfc/descent": "beyondkernels.experiments.bfc.descent:Descent",
    "bfc/gap": "beyondkernels.experiments.bfc.gap:Gap",
    "bfc/layerwise": "beyondkernels.experiments.bfc.layerwise:Layerwise",
    "bfc/pretraining": "beyondkernels.experiments.bfc.pretraining:Pretraining",
    "bfc/search": "beyondkernels.experiments.bfc.search:Search",
    "bfc/theorem1": "beyondkernels.experiments.bfc.theorem1:Theorem1",
    "bfc/theorem2": "beyondkernels.experiments.bfc.theorem2:Theorem2",
    "bfc/theoremI1": "beyondkernels.experiments.bfc.theorem_i1:TheoremI1",
    "bfc/theoremI6": "beyondkernels.experiments.bfc.theorem_i6:TheoremI6",
    "bfc/toy12": "beyondkernels.experiments.bfc.toy12:Toy12",
    "bfc/toy61": "beyondkernels.experiments.bfc.toy61:Toy61",
    "features/fig15": "beyondkernels.experiments.features.fig15:Fig15",
    "features/lemma5": "beyondkernels.experiments.features.lemma5:Lemma5",
    "features/lemma6": "beyondkernels.experiments.features.lemma6:Lemma6",
    "features/table1": "beyondkernels.experiments.features.table1:Table1",
    "features/table1-strong": "beyondkernels.experiments.features.table1_strong:Table1Strong",
    "features/table2": "beyondkernels.experiments.features.table2:Table2",
    "features/table3": "beyondkernels.experiments.features.table3:Table3",
    "features/table4": "beyondkernels.experiments.features.table4:Table4",
    "features/table5": "beyondkernels.experiments.features.table5:Table5",
    "features/table6": "beyondkernels.experiments.features.table6:Table6",
    "features/tables": "beyondkernels.experiments.features.overview:Overview",
    "features/theorem1": "beyondkernels.experiments.features.theorem1:Theorem1",
    "features/theorem2": "beyondkernels.experiments.features.theorem2:Theorem2",
    "features/theorem4": "beyondkernels.experiments.features.theorem4:Theorem4",
    "features/theorem34": "beyondkernels.experiments.features.theorem34:Theorem34",
    "overparam/conv": "beyondkernels.experiments.overparam.conv:Conv",
    "overparam/coupling": "beyondkernels.experiments.overparam.coupling:Coupling",
    "overparam/dimension-free": "beyondkernels.experiments.overparam.dimension_free:DimensionFree",
    "overparam/existence": "beyondkernels.experiments.overparam.existence:Existence",
    "overparam/indicator": "beyondkernels.experiments.overparam.indicator:Indicator",
    "overparam/landscape": "beyondkernels.experiments.overparam.landscape:Landscape",
    "overparam/rademacher": "beyondkernels.experiments.overparam.rademacher:Rademacher",
    "overparam/randomness": "beyondkernels.experiments.overparam.randomness:Randomness",
    "overparam/smoothing": "beyondkernels.experiments.overparam.smoothing:Smoothing",
    "overparam/theorem41": "beyondkernels.experiments.overparam.theorem41:Theorem41",
    "overparam/theorem42": "beyondkernels.experiments.overparam.theorem42:Theorem42",
    "overparam/theorem43": "beyondkernels.experiments.overparam.theorem43:Theorem43",
    "resnet/coupling": "beyondkernels.experiments.resnet.coupling:Coupling",
    "resnet/fig2a": "beyondkernels.experiments.resnet.fig2:Fig2a",
    "resnet/fig2b": "beyondkernels.experiments.resnet.fig2:Fig2b",
    "resnet/fig3": "beyondkernels.experiments.resnet.fig3:Fig3",
    "resnet/fig4a": "beyondkernels.experiments.resnet.fig4:Fig4a",
    "resnet/fig4b": "beyondkernels.experiments.resnet.fig4:Fig4b",
    "resnet/scaling": "beyondkernels.experiments.resnet.scaling:Scaling",
    "resnet/theorem1": "beyondkernels.experiments.resnet.theorem1:Theorem1",
    "resnet/theorem2": "beyondkernels.experiments.resnet.theorem2:Theorem2",
    "resnet/theorem3": "beyondkernels.experiments.resnet.theorem3:Theorem3",
}
"""Where each experiment is declared."""


def find(name: str) -> Experiment:
    """The experiment of that id, or the one a user's file defines: ``path/file.py:NAME``."""
    if ".py:" in name or name.endswith(".py"):
        path, _, attribute = name.rpartition(":") if ".py:" in name else (name, "", "")
        return from_file(Path(path), attribute)
    if name not in CATALOGUE:
        unknown("experiment", name, CATALOGUE, listed_by="bk list")
    module, _, attribute = CATALOGUE[name].partition(":")
    return getattr(importlib.import_module(module), attribute)()
