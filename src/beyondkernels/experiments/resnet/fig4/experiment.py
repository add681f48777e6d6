"""Figure 4 (and 1): SGD against the least weights that compute a monomial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

from beyondkernels.core import Reference, require, require_between, require_positive
from beyondkernels.experiments.base import Experiment, Finished, Label, Rows
from beyondkernels.experiments.published import published
from beyondkernels.experiments.resnet.fig4 import pictures, tables
from beyondkernels.experiments.resnet.fig4.construction import closed_form_spec, targets
from beyondkernels.experiments.resnet.fig4.notes import LARGE_NOTE, NOTES, SMALL_NOTE, remarks
from beyondkernels.experiments.resnet.fig4.specs import Start, construction_spec, trained_spec
from beyondkernels.experiments.resnet.held_out import require_unseen, search_of, search_seeds
from beyondkernels.experiments.resnet.search import Axis, Point, Search, position
from beyondkernels.experiments.settings import setting
from beyondkernels.reports import Claim, Column, Figure
from beyondkernels.runs import RunSpec

_NOT_STATED = "not stated in the paper"


@dataclass(frozen=True)
class Fig4Settings:
    """The numbers of Figure 4(a); the defaults are the paper's."""

    dim: int = setting(40, "paper", "d")
    samples: int = setting(5000, "paper", "N")
    widths: tuple[int, ...] = setting(
        (200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000), "paper", "m, each even"
    )
    epochs: tuple[int, ...] = setting(
        (800, 3200), "ours", f"each with a search of its own; {_NOT_STATED}; §8.1 has 800"
    )
    batch: int = setting(50, "ours", f"that of §8.1; {_NOT_STATED}")
    momentum: float = setting(0.9, "ours", f"that of §8.1; {_NOT_STATED}")
    start: Literal["1/m", "1/d"] = setting("1/m", "ours", f"variance of the weights, that of §8.1; {_NOT_STATED}")
    learning_rates: tuple[float, ...] = setting(
        (0.5, 1.0, 2.0, 5.0, 10.0), "ours", "to begin with; the paper names only the set {1, 2, 5}·10^k"
    )
    weight_decays: tuple[float, ...] = setting((5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4), "ours", "to begin with")
    rate_limits: tuple[float, ...] = setting((0.05, 50.0), "ours", "the grid does not grow beyond")
    decay_limits: tuple[float, ...] = setting((1e-7, 1e-2), "ours", "the grid does not grow beyond")
    search_seeds: int = setting(1, "ours", f"1000, 1001, …: for the search alone; {_NOT_STATED}")
    seeds: int = setting(3, "ours", f"0, 1, 2, …: for the chosen ones and W*; {_NOT_STATED}")
    validation_samples: int = setting(1000, "ours", "fresh points for the second choice")
    test_samples: int = setting(10_000, "ours", _NOT_STATED)
    construction_width: int = setting(200, "paper", "m of W*")
    construction_steps: int = setting(
        10_000, "ours", "of gradient descent on all 64 points; the rate falls by 10 half-way"
    )
    construction_rate: float = setting(10.0, "ours")
    construction_decays: tuple[float, ...] = setting(
        (1.5e-3, 1.2e-3, 1e-3, 9e-4, 8e-4, 7e-4, 5e-4, 4e-4, 3e-4, 2e-4, 1e-4, 5e-5), "ours", "the path of W*"
    )
    backend: Literal["compiled", "eager"] = setting(
        "compiled", "ours", "needs a C++ compiler; eager does without, more slowly"
    )

    def __post_init__(self) -> None:
        for name in ("samples", "batch", "search_seeds", "validation_samples", "test_samples", "construction_steps"):
            require_positive(name, getattr(self, name))
        require(self.dim >= 6, f"dim must be at least 6, the degree of the monomial, got {self.dim}")
        require(self.batch <= self.samples, f"batch must not exceed samples ({self.samples}), got {self.batch}")
        for name in ("widths", "epochs", "learning_rates", "weight_decays"):
            values = getattr(self, name)
            rising = len(values) > 0 and list(values) == sorted(set(values))
            require(rising, f"{name} must hold increasing numbers, each once, got {values}")
            require_positive(name, values[0])
        require(self.construction_width >= 64, f"construction_width must be at least 64, got {self.construction_width}")
        for name in ("widths", "epochs", "construction_width"):
            given = getattr(self, name)
            odd = [value for value in (given if isinstance(given, tuple) else (given,)) if value % 2]
            require(not odd, f"{name} must be even, got {(*odd, '')[0]}")
        for name, limits in (("learning_rates", "rate_limits"), ("weight_decays", "decay_limits")):
            ends, values = getattr(self, limits), getattr(self, name)
            require(len(ends) == 2 and 0 < ends[0] <= ends[1], f"{limits} must be two increasing numbers, got {ends}")
            for value in values:
                position(value)
                require_between(name, value, *ends)

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """Learning rates and weight decays to begin with."""
        rates, decays = ((ends[0], ends[1]) for ends in (self.rate_limits, self.decay_limits))
        return Axis(self.learning_rates, rates), Axis(self.weight_decays, decays)

    @property
    def other_start(self) -> Start:
        """The start that is not searched."""
        return "1/d" if self.start == "1/m" else "1/m"


@dataclass(frozen=True)
class Fig4bSettings(Fig4Settings):
    """The numbers of Figure 4(b)."""

    dim: int = setting(100, "paper", "d")
    samples: int = setting(50_000, "paper", "N")
    widths: tuple[int, ...] = setting((200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000), "paper", "m, each even")
    epochs: tuple[int, ...] = setting((200, 800), "ours", f"each with a search of its own; {_NOT_STATED}; §8.1 has 800")
    batch: int = setting(100, "paper")
    weight_decays: tuple[float, ...] = setting(
        (1e-8, 1e-7, 1e-6, 1e-5, 5e-5, 2e-4), "ours", "to begin with; a wide network fits the sample from 10⁻⁷ down"
    )
    decay_limits: tuple[float, ...] = setting((1e-8, 1e-2), "ours", "the grid does not grow beyond")


class Fig4a(Experiment):
    """d = 40, N = 5000."""

    id: ClassVar[str] = "resnet/fig4a"
    title: ClassVar[str] = "SGD and the least weights of a monomial, d = 40"
    summary: ClassVar[str] = (
        "The label is the product of six signs out of forty. There are two-layer networks of small Frobenius norm that "
        "compute it: they are made by hand here, with the least norm there can be or close to it. The paper reports "
        "that SGD from a random start, given 5000 points, finds neither these nor any solution with a test error below "
        "0.69. Here both are looked at for more than one length of training."
    )
    reference: ClassVar[Reference] = Reference("resnet", "§8.2, Figures 1 and 4(a)")
    notes: ClassVar[tuple[str, ...]] = (*NOTES, SMALL_NOTE)
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 5.0, "paper": 500.0}

    numbers: ClassVar[type[Fig4Settings]] = Fig4Settings
    printed: ClassVar[str] = "d40_n5000"

    def settings(self, scale: str) -> Fig4Settings:
        """The paper's numbers; two widths and every other rate and decay at laptop scale."""
        paper = self.numbers()
        if scale == "paper":
            return paper
        if scale == "laptop":
            return replace(
                paper,
                widths=(200, 500),
                learning_rates=(2.0, 5.0, 10.0),
                weight_decays=(1e-5, 5e-5, 2e-4),
                rate_limits=(0.5, 20.0),
                decay_limits=(2e-6, 1e-3),
                test_samples=5000,
            )
        return self._smoke(paper)

    def _smoke(self, paper: Fig4Settings) -> Fig4Settings:
        return replace(
            paper,
            dim=8,
            samples=200,
            widths=(8, 16),
            epochs=(4, 8),
            batch=20,
            learning_rates=(0.1, 0.5),
            weight_decays=(1e-4, 1e-3),
            rate_limits=(0.1, 1.0),
            decay_limits=(1e-4, 2e-3),
            seeds=2,
            validation_samples=100,
            test_samples=200,
            construction_width=64,
            construction_steps=400,
            construction_decays=(1e-3, 3e-4),
        )

    def plan(self, settings: Fig4Settings, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
        """W* in closed form and by descent; the search as far as it is known; the chosen ones from both starts."""
        require_unseen(seeds, settings)
        specs: dict[Label, RunSpec] = {
            ("closed form", f"R={risk:g}", seeds[0]): closed_form_spec(settings, risk, seeds[0])
            for risk, _ in targets()
        }
        specs |= {
            ("W*", f"λ={decay:g}", seed): construction_spec(settings, decay, seed)
            for decay in settings.construction_decays
            for seed in seeds
        }
        for epochs, width, search in self.searches(settings, finished):
            for point in search.points:
                for seed in search_seeds(settings):
                    label = _label("search", epochs, width, point, seed)
                    specs[label] = trained_spec(settings, epochs, width, point, seed, settings.start)
            for found in search.found or ():
                for seed in seeds:
                    label = _label("chosen", epochs, width, found.point, seed)
                    specs[label] = trained_spec(settings, epochs, width, found.point, seed, settings.start)
            if search.found:
                by_validation = search.found[-1].point
                for seed in seeds:
                    label = _label("other start", epochs, width, by_validation, seed)
                    specs[label] = trained_spec(settings, epochs, width, by_validation, seed, settings.other_start)
        return specs

    def searches(self, settings: Fig4Settings, finished: Finished) -> Iterator[tuple[int, int, Search]]:
        """The search at every number of epochs and width, as far as what is finished carries it."""
        for epochs in settings.epochs:
            for width in settings.widths:
                label = partial(_label, "search", epochs, width)
                yield epochs, width, search_of(settings.axes, label, finished, settings)

    def rows(self, settings: Fig4Settings, finished: Finished) -> Rows:
        """A row for each run: of W*, of the search, and of the chosen ones by either choice and from both starts."""
        seeds = list(dict.fromkeys(int(label[-1]) for label in finished if label[0] == "W*"))
        rows: Rows = []
        for risk, _ in targets():
            run = finished.get(("closed form", f"R={risk:g}", *seeds[:1]))
            if run is not None:
                rows.append(tables.closed_form_row(settings, seeds[0], run.outcome))
        for decay in settings.construction_decays:
            for seed in seeds:
                run = finished.get(("W*", f"λ={decay:g}", seed))
                if run is not None:
                    rows.append(tables.construction_row(settings, decay, seed, run.outcome))
        for epochs, width, search in self.searches(settings, finished):
            wanted = [("search", "", point, False, [*search_seeds(settings)]) for point in search.points]
            # the criteria's order is that of search_errors
            for choice, found in zip(("test", "validation"), search.found or (), strict=False):
                wanted.append(("chosen", choice, found.point, found.on_edge, seeds))
            if search.found:
                wanted.append(("other start", "validation", search.found[-1].point, False, seeds))
            for part, choice, point, edge, which in wanted:
                for seed in which:
                    run = finished.get(_label(part, epochs, width, point, seed))
                    if run is not None:
                        place = (part, choice, epochs, width, point, seed, edge)
                        rows.append(tables.trained_row(settings, place, run.outcome))
        return rows

    def table(self, settings: Fig4Settings, rows: Rows) -> tuple[Sequence[Column], Rows]:
        """W*, what the search met, and the chosen ones: means and standard deviations over seeds."""
        return tables.COLUMNS, tables.summary(settings, rows)

    def claims(self, settings: Fig4Settings, rows: Rows, scale: str) -> list[Claim]:
        """W* exists; SGD finds no such solution, and none that generalises."""
        bound = published("resnet", "figure4")["sgd_best_test"][self.printed]
        return tables.claims(settings, rows, bound, scale in ("laptop", "paper"))

    def remarks(self, settings: Fig4Settings) -> list[str]:
        """The lower bound on norms, what the paper's bound on the generalisation gap comes to, and the schedules."""
        return remarks(settings)

    def figures(self, settings: Fig4Settings, finished: Finished) -> list[Figure]:
        """Norm against training error and against test error, and test error over width."""
        rows = self.rows(settings, finished)
        bound = published("resnet", "figure4")["sgd_best_test"][self.printed]
        return [
            *pictures.norm_and_error(settings, rows, "train_error"),
            *pictures.norm_and_error(settings, rows, "test_error"),
            *pictures.error_over_width(settings, rows, bound),
        ]


class Fig4b(Fig4a):
    """d = 100, N = 50,000."""

    id: ClassVar[str] = "resnet/fig4b"
    title: ClassVar[str] = "SGD and the least weights of a monomial, d = 100"
    summary: ClassVar[str] = (
        "As resnet/fig4a, with six signs out of a hundred and 50,000 points, where the paper reports no test error "
        "below 0.98."
    )
    reference: ClassVar[Reference] = Reference("resnet", "§8.2, Figure 4(b)")
    notes: ClassVar[tuple[str, ...]] = (*NOTES, LARGE_NOTE)
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.1, "laptop": 25.0, "paper": 1600.0}

    numbers: ClassVar[type[Fig4Settings]] = Fig4bSettings
    printed: ClassVar[str] = "d100_n50000"

    def settings(self, scale: str) -> Fig4Settings:
        """The paper's numbers; at laptop scale two widths, the shorter schedule and every other rate."""
        paper = self.numbers()
        if scale == "paper":
            return paper
        if scale == "laptop":
            return replace(
                paper,
                widths=(200, 1000),
                epochs=(200,),
                learning_rates=(2.0, 10.0),
                weight_decays=(1e-8, 1e-7, 1e-6, 1e-5, 1e-4),
                rate_limits=(0.5, 20.0),
                decay_limits=(1e-8, 1e-3),
                test_samples=5000,
            )
        return self._smoke(paper)


def _label(part: str, epochs: int, width: int, point: Point, seed: int) -> Label:
    rate, decay = point
    return (part, f"{epochs} epochs", width, f"η={rate:g}", f"λ={decay:g}", seed)
