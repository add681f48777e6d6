"""What the features of given weights are worth: nothing is trained but linear readouts."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import torch

from beyondkernels.algorithms import Recipe
from beyondkernels.auditing.checkpoints import loaded
from beyondkernels.auditing.checks import Finding
from beyondkernels.auditing.claims import best_fixed, best_fixed_name, error_of
from beyondkernels.auditing.experiment import Audit
from beyondkernels.auditing.ladder import (
    BANDWIDTHS,
    KINDS,
    MACHINE,
    MODEL,
    SQUARED_BANDWIDTHS,
    Rung,
    ladder,
    solved_exactly,
)
from beyondkernels.auditing.leads import lead, signed
from beyondkernels.auditing.readouts import AsGiven, Readout
from beyondkernels.auditing.result import AuditResult
from beyondkernels.auditing.scores import error_of_test_points, scores_of
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.auditing.subject import Subject
from beyondkernels.core import Outcome, Stream, require, shape_of, shown
from beyondkernels.lab import Above, Rows, Statement, Value, claim, select
from beyondkernels.lab.declaration.runs import Record
from beyondkernels.measure import PointErrors, SquaredError
from beyondkernels.networks import FromCopy, FromModule, Network
from beyondkernels.store import RunSpec

if TYPE_CHECKING:
    from pandas import DataFrame

    from beyondkernels.lab import At, Runs

KIND = "given features"
"""How tables call learners on the features of the given weights."""

_START = ("constant", "linear", "Laplace kernel", "Gaussian kernel", MACHINE, "conjugate kernel", "tangent kernel")
"""The rungs of a common audit that an audit of given weights has as well: those that train nothing."""

_LOSSES = ("leave_one_out_loss", "held_out_loss")
"""By which of their numbers readouts are chosen where there is no cross-validated accuracy: errors at training points
that were left out."""


@dataclass(frozen=True)
class _GivenRung(Rung):
    """A rung that a common audit does not have."""

    said: str = ""

    @property
    def about(self) -> str:
        """What it is, in a sentence."""
        return self.said


class GivenAudit(Audit):
    """What the features of given weights are worth: an :class:`Audit` without training.

    Linear readouts of the features at the given weights are compared with readouts of the same features at a fresh
    start, and with kernels of the inputs.

    Arguments:
        model: a ``torch.nn.Module``, or a function of (in_dim, out_dim) that makes one if ``weights`` are given apart.
        train: as for :class:`Audit`.
        test: as for :class:`Audit`.
        weights: ``given`` for the numbers that the module has, a state dict, or the path of a file that holds one.
        name: what to call it.
        settings: fields of :class:`AuditSettings` by name.
        options: how to read data, and ``loss``, ``n`` and ``blocks``.
    """

    title = "What are the features of these weights worth?"

    def __init__(
        self,
        model: Any,
        train: Any,
        test: Any = None,
        *,
        weights: Any = "given",
        name: str | None = None,
        settings: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        training = [each.name for each in fields(Recipe) if each.name != "loss"]
        unused = [each for each in ("algorithm", *training) if options.get(each) is not None]
        require(not unused, f"{', '.join(unused)} cannot be given with weights, because nothing is trained")
        parts = (settings or {}).get("parts")
        require(
            parts is None or tuple(parts) == ("ladder",), f"parts must be ['ladder'] with weights, got {shown(parts)}"
        )
        own = isinstance(model, torch.nn.Module | FromCopy)
        require(
            own or not isinstance(weights, str) or weights != "given",
            f"weights must be a state dict or a file for {shown(model)}, which has no weights of its own, got 'given'",
        )
        require(not (settings or {}).get("probes"), "probes cannot be True with weights, because nothing is trained")
        kept = {**(settings or {}), "parts": ("ladder",), "probes": False}
        super().__init__(model, train, test, name=name, settings=kept, **options)
        shown_weights = weights if isinstance(weights, str) else "the weights"
        self._given = (name, test, AuditSettings(**(settings or {})), {**options, "weights": shown_weights})
        problem, network = self.subject.problem, self.subject.network
        require(isinstance(network, FromCopy | FromModule), f"model must be a torch.nn.Module, got {shown(model)}")
        assert isinstance(network, FromCopy | FromModule)
        if isinstance(network, FromCopy):
            module = network.module
        else:
            module = network.fresh(shape_of(problem.in_shape), problem.out_dim, Stream(0))
        given = FromCopy.of(loaded(module, weights), name=network.name, fresh_start=False, output=network.output)
        self.given = replace(given, inputs=network.inputs, blocks=network.blocks, parts=network.parts)
        """The network that starts from the given weights."""
        self.summary = self.summary.split(" learns ")[0] + (
            f" is not trained. Linear readouts are fitted to {self.subject.samples} points and tested on "
            f"{self.subject.test}. It has {len(self.subject.blocks)} blocks."
        )

    def ladder(self, subject: Subject, settings: AuditSettings) -> list[Rung]:
        """Learners on fixed features, readouts of the given features, and the model as it is."""
        known = {rung.name: rung for rung in ladder(subject, settings, self.workers)}
        found = [known[name] for name in _START if name in known]
        solver = "exact" if solved_exactly(subject, settings) else "iterative"
        memory = round(settings.memory * 1e9 / self.workers)

        def readout(network: Network, kind: Any, block: str = "", settled: bool = False) -> Any:
            return lambda: Readout(network, subject.rule, kind, block, settled, settings.tune, solver, memory)

        if settings.tune and subject.has_features and "conjugate kernel" in known:
            at = next(i for i, rung in enumerate(found) if rung.name == "conjugate kernel")
            found[at] = replace(found[at], make=readout(subject.network, "conjugate", settled=True))

        for block in subject.block_names[:-1]:
            said = f"A linear readout of what block {block} gives at a fresh start."
            make = readout(subject.network, "block", block, True)
            found.append(_GivenRung(f"probe of {block} at a fresh start", make, said=said))
        for block in subject.block_names[:-1]:
            said = f"A linear readout of what block {block} gives at the given weights."
            found.append(_GivenRung(f"probe of {block}", readout(self.given, "block", block), drawn=False, said=said))
        kernels = {
            "conjugate": ("" if subject.has_features else "the model does not end with a linear layer on vectors"),
            "tangent": subject.no_tangent,
        }
        for kind, why in kernels.items():
            said = f"The {kind} kernel at the given weights, fitted as kernels at the start are."
            make = None if why else readout(self.given, kind)
            found.append(_GivenRung(f"given {kind} kernel", make, why, drawn=False, said=said))
        model = _GivenRung(
            MODEL, lambda: AsGiven(self.given, subject.network, subject.rule), said="The model as it is."
        )
        return [rung for rung in (*found, model) if rung.name not in settings.without]

    def kind_of(self, rung: str) -> str:
        """What a rung may use, in words."""
        if rung == MODEL:
            return KINDS["model"]
        if rung == "constant":
            return KINDS["floor"]
        return KINDS["fixed"] if rung in _START or rung.endswith("at a fresh start") else KIND

    def claims(self, settings: AuditSettings) -> Sequence[Statement]:
        """Whether the given features are worth anything."""

        def noise(rows: Rows, _: Any) -> float:
            names = best_given(rows), best_fixed_name(rows)
            return error_of_test_points(
                self.subject, *(scores_of(rows, part="ladder", rung=name or "") for name in names)
            )

        given = Value(
            lambda rows: error_of(best_given(rows) or "").compute(rows), quantity="error", name="best_given()"
        )
        text = "A linear readout of the given features is clearly better than every learner with fixed features"
        return [claim("given", text, best_fixed() - given, Above(0.0), beside_seeds=noise, kind="question")]

    def finding(self, settings: AuditSettings, rows: Rows) -> str:
        """What is odd about the data, what the features are worth, by block, and how far the weights have moved."""
        worth = self._worth(settings, rows)
        odd = self._oddities[0].values() if worth else ()
        said = [*odd, worth, self._as_it_is(rows), self._by_block(rows), self._distance(rows)]
        return " ".join(sentence for sentence in said if sentence)

    def remarks(self, settings: AuditSettings) -> Sequence[str]:
        """What each rung is, and which could not be had."""
        rungs = self.rungs(settings)
        listed = "\n".join(
            f"- **{each.name}** ({self.kind_of(each.name)}): {each.about}" for each in rungs if each.make
        )
        missing = [f"{name} ({why})" for name, why in self.left_out(settings).items()]
        warning = (
            "Nothing here knows which points the weights were trained on. If some of the test points were among them, "
            "the given features look better than they are."
        )
        return [f"## The rungs\n\n{listed}", warning, *([f"Left out: {'; '.join(missing)}."] if missing else [])]

    def _worth(self, settings: AuditSettings, rows: Rows) -> str:
        best, fixed = best_given(rows), best_fixed_name(rows)
        if best is None or fixed is None:
            return ""
        theirs, others = (scores_of(rows, part="ladder", rung=name) for name in (best, fixed))
        ahead = lead(self.subject, theirs, others)
        if ahead is None:
            return ""
        readout = f"a linear readout of them ({best}, {signed(theirs.mean)} %)"
        known = f"the best learner with fixed features ({fixed}, {signed(others.mean)} %)"
        if ahead.mean >= settings.tolerance and ahead.above_zero:
            return (
                f"The features of the given weights are worth {ahead.size} points: {readout} is so far ahead of "
                f"{known}. {ahead.sentence}"
            )
        side = "ahead of" if ahead.mean >= 0 else "behind"
        clear = ahead.mean < settings.tolerance
        said = "gain nothing over fixed features" if clear else "may be better than fixed features or not"
        much = f"{readout} is {ahead.size} points {side} {known}"
        return f"The features of the given weights {said}: {much}. {ahead.sentence}"

    def _as_it_is(self, rows: Rows) -> str:
        scores = scores_of(rows, part="ladder", rung=MODEL)
        return f"The model as it is has {signed(scores.mean)} %." if scores else ""

    def _by_block(self, rows: Rows) -> str:
        said = []
        for block in self.subject.block_names[:-1]:
            given, fresh = (scores_of(rows, rung=f"probe of {block}{end}") for end in ("", " at a fresh start"))
            if given and fresh:
                said.append(f"{signed(given.mean)} % after {block} (fresh start: {signed(fresh.mean)} %)")
        return f"Linear probes by block have {', '.join(said)}." if said else ""

    def _distance(self, rows: Rows) -> str:
        runs = select(rows, {"rung": MODEL})
        if "distance" not in runs or runs["distance"].dropna().empty:
            return ""
        far, apart = runs["distance"].mean(), runs["apart"].mean()
        return (
            f"The given weights are {far:.2g} times the length of a fresh start away from it; two fresh starts are "
            f"{apart:.2g} times that length apart."
        )

    def health(self, settings: AuditSettings, rows: Rows) -> list[Finding]:
        """Nothing: what is not trained is not trained badly."""
        return []

    def _grid(self, settings: AuditSettings, spec: Any, over: dict[str, Any], tuned: bool = True) -> Runs:
        """Runs over coordinates: nothing is trained, so there is no rate to search."""
        return super()._grid(replace(settings, tune=False), spec, over, tuned)

    def tuned(self, rows: Rows) -> list[dict[str, Any]]:
        """What was chosen for each readout and kernel on the training points.

        Arguments:
            rows: what the runs say.
        """
        found = []
        for run in select(rows, {"part": "ladder"}).to_dict("records"):
            if not any(run.get(each) == run.get(each) and run.get(each) is not None for each in ("ridge", "penalty")):
                continue
            loss = next((each for each in ("hinge", "logistic") if run.get(each) == 1), "squared")
            strength = run["ridge"] if loss == "squared" else run["penalty"]
            place = int(run["kernel"]) if run.get("kernel") == run.get("kernel") else 0
            held_out = run.get(f"{loss}_accuracy")
            known = {"rung": run["rung"], "seed": int(run["seed"]), "loss": loss, "strength": strength}
            found.append({**known, "kernel": self._kernel_of(run["rung"], place), "held_out": held_out})
        return found

    def _kernel_of(self, rung: str, place: int) -> str:
        """Which of a rung's kernels it is, in words."""
        factors = {"Laplace kernel": BANDWIDTHS, "Gaussian kernel": SQUARED_BANDWIDTHS, MACHINE: SQUARED_BANDWIDTHS}
        if rung in factors:
            return f"bandwidth {factors[rung][place]:g}"
        return "standardised features" if place else "as it is"

    def _looked_into(self, subject: Subject, s: AuditSettings, at: At) -> RunSpec:
        return self._spec(AsGiven(self.given, subject.network, subject.rule), at)

    def _spec(self, learner: Any, at: At, subject: Subject | None = None) -> RunSpec:
        spec = super()._spec(learner, at, subject)
        if isinstance(learner, AsGiven) and not self.subject.has_squared_loss:
            return replace(spec, measurements=(PointErrors(), SquaredError()))
        return spec

    def _read(self, settings: AuditSettings, at: At, outcome: Outcome) -> Record:
        kind = {"kind": self.kind_of(at.rung)}
        if outcome.status != "finished":
            return kind
        return {**kind, **self.subject.score(outcome.scalars, at.seed), **outcome.scalars}


class GivenResult(AuditResult):
    """The result of an audit of given weights."""

    @functools.cached_property
    def tuned(self) -> DataFrame:
        """A row for each readout and kernel and each seed: what was chosen for it on the training points.

        ``loss`` and its ``strength`` (a ridge, or a penalty), ``kernel`` (the bandwidth relative to the typical
        distance of two points, or its square, or whether the features are standardised), and ``held_out``, the accuracy
        in the cross-validation that chose among losses.
        """
        import pandas as pd

        columns = ["rung", "seed", "loss", "strength", "kernel", "held_out"]
        return pd.DataFrame(self.experiment.tuned(self.result.reading.rows), columns=columns)

    @property
    def distance(self) -> DataFrame:
        """A row for each block, and one for the whole: how far the weights are from a fresh start, the mean over seeds.

        ``distance`` is ‖w − w₀‖ / ‖w₀‖ with a fresh start w₀, and ``apart`` the same for two fresh starts.
        """
        import pandas as pd

        runs = [run.scalars for run in self._models.values()]
        names = {"all": "", **{name: f"/{name}" for name in self.experiment.subject.block_names}}
        rows: list[Mapping[str, Any]] = []
        for block, end in names.items():
            found = {
                word: [each[f"{word}{end}"] for each in runs if f"{word}{end}" in each]
                for word in ("distance", "apart")
            }
            if found["distance"]:
                rows.append({"block": block, **{word: sum(each) / len(each) for word, each in found.items()}})
        return pd.DataFrame(rows)


def best_given(rows: Rows) -> str | None:
    """The readout of given features that does best at training points that were left out; None without one.

    It is not chosen on the test points, so that its score there is not large by choice.

    Arguments:
        rows: the rows.
    """
    found = select(rows, {"part": "ladder", "kind": KIND})
    accuracies = found.filter(items=["squared_accuracy", "hinge_accuracy", "logistic_accuracy"]).max(axis=1)
    if not accuracies.dropna().empty:
        return str(accuracies.groupby(found["rung"]).mean().idxmax())
    name = next((each for each in _LOSSES if each in found and not found[each].dropna().empty), None)
    if name is None:
        return None
    means = found.groupby("rung")[name].mean().dropna()
    return None if means.empty else str(means.idxmin())
