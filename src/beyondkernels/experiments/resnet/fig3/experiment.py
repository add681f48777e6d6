"""Figure 3: the three-layer ResNet over the size of the base signal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from beyondkernels.core import Reference, require, require_positive
from beyondkernels.experiments.base import Experiment, Finished, Label, Rows
from beyondkernels.experiments.resnet.fig2.settings import Fig2Settings
from beyondkernels.experiments.resnet.fig3 import pictures, tables
from beyondkernels.experiments.resnet.fig3.methods import NAMES, TWO_STEP, WAYS, Way, exact, trained_spec, two_step_spec
from beyondkernels.experiments.resnet.held_out import points_of, require_unseen, search_of, search_seeds
from beyondkernels.experiments.resnet.search import Found, Point, Search
from beyondkernels.experiments.settings import setting
from beyondkernels.reports import Claim, Column, Figure
from beyondkernels.runs import RunSpec

_UNSTATED_NOTE = (
    "The paper states neither N nor width for its Figure 3, and its curve is not printed as numbers. Here all layers "
    "are trained, with the N of Figure 2(a) and that of Figure 2(b) beside each other, and widths of our choice, of "
    "which the best is taken like a learning rate. Everything else, start, loss and errors included, is Figure 2's. "
    "How large β must be depends on N: in trials with other seeds 500 points asked for about 2α, 1000 for about α. The "
    "claims are the same for both, and those that fail with 500 points are left standing."
)
_CHOICE_NOTE = (
    "At every β and for either way of training, learning rate and weight decay are searched anew as in Figure 2: with "
    "seeds of the search alone, on a grid that grows until the best is not on its edge or its limits are reached, "
    "once by test error as the paper does and once by validation points. The choices are then trained with the "
    "reported seeds, which the search has not seen. The search stops at the first best that is not on an edge: where "
    "nothing is learnt of G(F), a far larger weight decay, which makes the network a constant, can be better still. "
    "Claims that the network learns use the choice by validation, the claim that it does not learn the choice by test "
    "error. What counts as learnt was fixed before any reported seed was run; grids and N were tried out with seeds "
    "100 and 101."
)
_LAYERWISE_NOTE = (
    "Layerwise: W and A are trained with the second layer held at zero, then V alone, from its own random start, with "
    "W and A fixed. Both stages have the same learning rate and weight decay, searched as for training together, and "
    "each as many epochs as training together has in all: twice the steps. The paper argues (§2.1) that this must do "
    "worse and does not show it."
)
_TWO_STEP_NOTE = (
    "The two-step kernel (bfc, footnote 25) regresses y on x, then on x and the first step's predictions. Its kernels "
    "are polynomials of just the degrees that F and G have, which favours it. It stands here with the weight and ridge "
    "that are best on the very test points, and with those that held-out training points choose. The footnote promises "
    "it the network's error of order α² given points enough, which neither paper counts; no claim is made about it. "
    "Unlike the networks' grid, its own does not grow: the table says how many seeds ended on an edge. The weights "
    "went from 0.01 to 10 at laptop scale until the reported seeds were seen to choose both ends; from 1e-4 to 100, "
    "mean errors are up to 2.1 % lower on test points and up to 3 % higher by held-out points. On an edge there remain "
    "the largest ridge, which predicts nothing whatever the weight, and the largest weight, which leaves the second "
    "kernel almost alone (where β is at most α/2 and, by test points, with 1000 points at β = 1; else single seeds), "
    "and the smallest ridge, which interpolates (with 500 points at β = 1, by held-out points)."
)
_LEARNT_NOTE = (
    "An error contains what is missing of βF as well. What is learnt of G(F) by itself is its coefficient in the "
    "network's predictions, relative to α: 1 for all of it, 0 for nothing, whatever the rest of the error is."
)


@dataclass(frozen=True)
class Fig3Settings(Fig2Settings):
    """The numbers of Figure 3; the defaults are the paper's where it states them."""

    samples: int = setting(500, "ours", "N, not stated for this figure; that of Figure 2(a)")
    more_samples: tuple[int, ...] = setting((1000,), "ours", "further N; that of Figure 2(b)")
    kernel_samples: tuple[int, ...] = setting((2000, 5000), "ours", "further N for the two-step kernel alone")
    betas: tuple[float, ...] = setting(
        tuple(i / 20 for i in range(21)), "ours", "β; the paper says between 0 and 1, the steps are ours"
    )
    widths: tuple[int, ...] = setting((200, 1000), "ours", "m, not stated for this figure; the best is taken")
    two_step_weights: tuple[float, ...] = setting(
        (1e-4, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0), "ours", "of the second kernel beside the first, the best is taken"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("betas", "sizes", "kernel_sizes"):
            values = getattr(self, name)
            shown = {"sizes": "samples and more_samples", "kernel_sizes": "more_samples and kernel_samples"}
            rising = list(values) == sorted({*values}) and len(values) > 0
            require(rising, f"{shown.get(name, name)} must hold increasing numbers, each once, got {values}")
        require(self.betas[0] >= 0, f"betas must not be negative, got {self.betas[0]}")
        require_positive("alpha", self.alpha)

    @property
    def sizes(self) -> tuple[int, ...]:
        """N of the networks."""
        return self.samples, *self.more_samples

    @property
    def kernel_sizes(self) -> tuple[int, ...]:
        """N of the two-step kernel."""
        return *self.sizes, *self.kernel_samples


class Fig3(Experiment):
    """β from 0 to 1."""

    id: ClassVar[str] = "resnet/fig3"
    title: ClassVar[str] = "How large must the base signal be for the composite one to be learnt?"
    summary: ClassVar[str] = (
        "The target is βF(x) + αG(F(x)) with α fixed. A three-layer ResNet needs F to learn G(F): with β well "
        "above α it does, with β below α it does not. Training the same network layer by layer does worse; the "
        "two-step kernel stands beside it."
    )
    reference: ClassVar[Reference] = Reference("resnet", "§8.1, Figure 3")
    notes: ClassVar[tuple[str, ...]] = (_UNSTATED_NOTE, _CHOICE_NOTE, _LAYERWISE_NOTE, _TWO_STEP_NOTE, _LEARNT_NOTE)
    seconds_per_run: ClassVar[Mapping[str, float]] = {"smoke": 0.05, "laptop": 0.9, "paper": 5.0}

    def settings(self, scale: str) -> Fig3Settings:
        """Everything at paper scale; multiples of α/2, one width and a coarser grid at laptop scale."""
        paper = Fig3Settings()
        if scale == "paper":
            return paper
        laptop = replace(
            paper,
            betas=(0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 1.0),
            widths=(200,),
            kernel_samples=(),
            learning_rates=(0.02, 0.05, 0.1),
            weight_decays=(0.002, 0.01, 0.05),
            test_samples=5000,
        )
        if scale == "laptop":
            return laptop
        return replace(
            laptop,
            dim=8,
            outputs=4,
            samples=100,
            more_samples=(120,),
            betas=(0.0, 1.0),
            widths=(8,),
            epochs=10,
            decay_epoch=5,
            batch=20,
            learning_rates=(0.005, 0.01),
            weight_decays=(0.002, 0.01),
            rate_limits=(0.005, 0.01),
            decay_limits=(0.002, 0.01),
            search_seeds=1,
            seeds=2,
            validation_samples=100,
            test_samples=200,
        )

    def plan(self, settings: Fig3Settings, seeds: Sequence[int], finished: Finished) -> dict[Label, RunSpec]:
        """The two-step kernel with every seed; the search, as far as it is known; the chosen ones with every seed."""
        require_unseen(seeds, settings)
        specs: dict[Label, RunSpec] = {
            (TWO_STEP, n, f"β={exact(beta)}", seed): two_step_spec(settings, n, beta, seed)
            for n in settings.kernel_sizes
            for beta in settings.betas
            for seed in seeds
        }
        for case in self.searches(settings, finished):
            for width, search in case.by_width.items():
                for point in search.points:
                    for seed in search_seeds(settings):
                        specs[case.label("search", width, point, seed)] = trained_spec(
                            case.way, settings, case.n, case.beta, width, point, seed
                        )
            for width, found in case.found():
                for seed in seeds:
                    specs[case.label("chosen", width, found.point, seed)] = trained_spec(
                        case.way, settings, case.n, case.beta, width, found.point, seed, measured=True
                    )
        return specs

    def searches(self, settings: Fig3Settings, finished: Finished) -> Iterator[SearchCase]:
        """The search of both ways at every N and β, as far as what is finished carries it."""
        for way in WAYS:
            for n in settings.sizes:
                for beta in settings.betas:
                    case = SearchCase(way, n, beta, {})
                    for width in settings.widths:
                        label = partial(case.label, "search", width)
                        case.by_width[width] = search_of(settings.axes, label, finished, settings)
                    yield case

    def rows(self, settings: Fig3Settings, finished: Finished) -> Rows:
        """A row for each method, N, β, choice and seed."""
        seeds = sorted({int(label[-1]) for label in finished if label[0] != "search"})
        rows: Rows = []
        for case in self.searches(settings, finished):
            # the criteria's order is that of search_errors
            for choice, (width, found) in zip(("test", "validation"), case.found(), strict=False):
                for seed in seeds:
                    run = finished.get(case.label("chosen", width, found.point, seed))
                    if run is not None:
                        tried = sum(len(search.points) for search in case.by_width.values())
                        place = {"method": NAMES[case.way], "samples": case.n, "beta": case.beta, "width": width}
                        rows.append(tables.trained_row(place, choice, seed, run.outcome, found, settings.alpha, tried))
        for n in settings.kernel_sizes:
            for beta in settings.betas:
                for seed in seeds:
                    run = finished.get((TWO_STEP, n, f"β={exact(beta)}", seed))
                    if run is not None:
                        rows += tables.two_step_rows(n, beta, seed, run.outcome)
        return rows

    def table(self, settings: Fig3Settings, rows: Rows) -> tuple[Sequence[Column], Rows]:
        """A row for each N, β and method: means and standard deviations over seeds."""
        return tables.COLUMNS, tables.summary(rows)

    def claims(self, settings: Fig3Settings, rows: Rows, scale: str) -> list[Claim]:
        """Learnt above, not learnt below, the crossing at about α, and layerwise training worse; for every N."""
        speaks = scale in ("laptop", "paper")
        return [claim for n in settings.sizes for claim in tables.claims(rows, n, settings, speaks)]

    def remarks(self, settings: Fig3Settings) -> list[str]:
        """What the numbers are to be compared with, and what “learnt” means."""
        levels = (
            f"Learning βF alone leaves kα² = {settings.threshold:.4g}, predicting a constant k(α² + β²): the same at "
            f"β = 0. Test errors of the reported seeds are means over {points_of(settings)} points."
        )
        learnt = (
            "The composite signal counts as learnt at a β where the whole 95 % t interval of the mean error over seeds "
            f"lies below {tables.LEARNT:g}·kα² = {tables.LEARNT * settings.threshold:.4g}. The crossing lies between "
            "the last β where it is not and the next one, from which on it is throughout."
        )
        return [levels, learnt]

    def figures(self, settings: Fig3Settings, finished: Finished) -> list[Figure]:
        """Test error over β for every N, and what is learnt of G(F)."""
        rows = self.rows(settings, finished)
        return [
            *(figure for n in settings.sizes for figure in pictures.error_over_beta(rows, n, settings)),
            *pictures.learnt_over_beta(rows, settings),
        ]


@dataclass(frozen=True)
class SearchCase:
    """The searches of one way of training at one N and β, by width."""

    way: Way
    n: int
    beta: float
    by_width: dict[int, Search]

    def found(self) -> list[tuple[int, Found]]:
        """By each criterion, the best width and what was found there; nothing while a search is not over."""
        done = [(width, search.found) for width, search in self.by_width.items() if search.found is not None]
        if len(done) < len(self.by_width):
            return []
        criteria = range(len(done[0][1]))
        return [min(((width, found[i]) for width, found in done), key=lambda pair: pair[1].error) for i in criteria]

    def label(self, part: str, width: int, point: Point, seed: int) -> Label:
        """What a run is called."""
        rate, decay = point
        return (part, NAMES[self.way], self.n, f"β={exact(self.beta)}", width, f"η={rate:g}", f"λ={decay:g}", seed)
