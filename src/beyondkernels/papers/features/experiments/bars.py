"""What the tables of App. E say, as claims with their bars, and which printed rows a trivial classifier beats."""

from __future__ import annotations

from collections.abc import Mapping

from beyondkernels.lab import AtLeast, AtMost, Between, Statement, claim, of
from beyondkernels.lab.report.claims import Condition
from beyondkernels.papers.features.experiments.cases import Case, problem_of
from beyondkernels.papers.features.experiments.tables import TRAINED, UNSTRUCTURED
from beyondkernels.papers.features.paper import PAPER

LEARNS = 99.5
"""Percent that count as learnt; the paper prints 100.0."""
FAILS, WITHOUT = 0.20, 0.12
"""How far a method that fails, and one without structure, may come from the constant classifier towards 100 %."""
NEAR = 10
"""Points by which a method that is trained halfway may be off the printed value."""
ALIGNED = 0.99
"""The cosine that the paper names for step two."""


def claims(
    printed: str, case: Case, where: Mapping[str, str], ranges: Mapping[str, tuple[float, float]] | None = None
) -> list[Statement]:
    """The sentences of a table with parity labels.

    Arguments:
        printed: what the table is called among the published numbers.
        case: which block.
        where: the rows that belong to it.
        ranges: where RF and NTK must lie, if not within ``NEAR`` points of the printed value.
    """
    without = capped(case, WITHOUT, structured=False)
    return [
        *learns(printed, case, where),
        accuracy(
            printed,
            case,
            where,
            "One Step",
            f"One Step, its readout trained by the Network's own schedule, stays at or below {capped(case, FAILS)} %",
            AtMost(capped(case, FAILS)),
        ),
        *(as_trained(printed, case, where, name, (ranges or {}).get(name)) for name in ("RF", "NTK")),
        aligned(printed, case, where),
        *(
            accuracy(
                printed,
                case,
                where,
                method,
                f"Without input structure {name} stays at or below {without} %",
                AtMost(without),
                f"{name.lower()}-unstructured",
            )
            for name, method in UNSTRUCTURED.items()
        ),
    ]


def learns(printed: str, case: Case, where: Mapping[str, str], methods: tuple[str, ...] = ()) -> list[Statement]:
    """The Network and Two Step learn, and other methods where the paper says so."""
    return [
        accuracy(printed, case, where, name, f"{called} test accuracy is at least {LEARNS} %", AtLeast(LEARNS))
        for name, called in (
            ("Network", "The Network's"),
            ("Two Step", "Two Step's"),
            *((name, f"{name}'s") for name in methods),
        )
    ]


def as_trained(
    printed: str, case: Case, where: Mapping[str, str], method: str, between: tuple[float, float] | None = None
) -> Statement:
    """A fixed-feature method lies near the printed value.

    Where the constant classifier does as well as that, being near says nothing, and the bar is one that fails to learn.
    """
    value = _printed(printed, case).get(method)
    middle = round(value) if value is not None else round(case.data.constant(case.numbers))
    low, high = between or (middle - NEAR, min(100, middle + NEAR))
    if case.data.constant(case.numbers) >= low:
        most = capped(case, FAILS)
        return accuracy(printed, case, where, method, f"{method} as trained stays at or below {most} %", AtMost(most))
    text = f"{method} as trained lies between {low} and {high} %"
    return accuracy(printed, case, where, method, text, Between(low, high))


def aligned(printed: str, case: Case, where: Mapping[str, str]) -> Statement:
    """Step two aligns a neuron with the ground truth."""
    return claim(
        "cosine",
        f"After step two the best aligned neuron has a cosine of at least {ALIGNED} with ±Σ Mⱼ",
        of("cosine_either_step2", method="Network", **where),
        AtLeast(ALIGNED),
        paper=PAPER.printed_by_method(printed, "cosine", case.name).get("Network"),
    )


def accuracy(
    printed: str, case: Case, where: Mapping[str, str], method: str, text: str, test: Condition, name: str = ""
) -> Statement:
    """A claim about a method's test accuracy."""
    return claim(
        name or method.lower().replace(" ", "-"),
        text,
        of("test_accuracy", method=method, **where),
        test,
        paper=_printed(printed, case).get(method),
        unit="%",
    )


def gained(case: Case, method: str, percent: float | None) -> float | None:
    """How far a method comes from the constant classifier of its data towards 100 %, in percent of the way."""
    constant = case.data.constant(case.numbers, method not in UNSTRUCTURED.values())
    return None if percent is None else 100 * (percent - constant) / (100 - constant)


def capped(case: Case, share: float, structured: bool = True) -> int:
    """So many percent are a share of the way from the constant classifier to 100 %."""
    constant = case.data.constant(case.numbers, structured)
    return round(constant + share * (100 - constant))


def beaten(printed: str, case: Case) -> str:
    """Which printed test accuracies lie below those of trivial classifiers; nothing if none does."""
    told = []
    for structured, methods in ((True, TRAINED), (False, tuple(UNSTRUCTURED.values()))):
        problem = problem_of(case, 0, structured)
        values = {name: _printed(printed, case).get(name) for name in methods}
        trivial = {"constant classifier": problem.constant_accuracy, "best linear classifier": problem.linear_accuracy}
        data = "" if structured else " on the data without structure"
        for classifier, share in trivial.items():
            percent = -1.0 if share is None else 100 * share
            low = [f"{name} ({value:g} %)" for name, value in values.items() if value is not None and value < percent]
            told += [f"The {classifier} is right on {percent:.1f} %{data}, above {', '.join(low)}."] if low else []
    return f"What trivial classifiers reach against what is printed: {' '.join(told)}" if told else ""


def _printed(printed: str, case: Case) -> dict[str, float | None]:
    return PAPER.printed_by_method(printed, "test_accuracy", case.name)
