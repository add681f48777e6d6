"""What every certificate has: a claim, its numbers, its hypotheses, a verdict, and a second computation."""

from __future__ import annotations

import dataclasses
import json
import math
import textwrap
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from beyondkernels.core import InputError, build, describe, require, shown
from beyondkernels.core.hypotheses import Hypothesis

_SCHEMA = 1
_WIDTH = 110

Numbers: TypeAlias = dict[str, float]
"""The numbers of a certificate by what they are."""


class DisagreementError(ArithmeticError):
    """Two computations of the same certificate differ by more than their errors."""


@dataclass(frozen=True)
class Verification:
    """How a certificate compares with a second computation of it.

    Arguments:
        route: how it was computed the second time.
        difference: the largest difference between the two.
        tolerance: the largest difference that rounding explains.

    >>> print(Verification("enumeration of the cube", 2e-14, 1e-9))
    agrees to 2e-14 with enumeration of the cube (tolerance 1e-09)
    """

    route: str
    difference: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the tolerance."""
        return self.difference <= self.tolerance

    def require(self) -> Verification:
        """This verification, or a :class:`DisagreementError`."""
        if not self.agrees:
            raise DisagreementError(f"the certificate {self}")
        return self

    def __str__(self) -> str:
        verdict = "agrees" if self.agrees else "disagrees"
        where = "to" if self.agrees else "by"
        return f"{verdict} {where} {self.difference:.2g} with {self.route} (tolerance {self.tolerance:.2g})"


class Certificate(ABC):
    """A lower bound on the error of every predictor of some kind, with the hypotheses it needs.

    ``print`` shows it as the theorem reads. A subclass is a frozen dataclass of components, numbers and words, so that
    :meth:`to_json` and :func:`from_json` need no code of their own.
    """

    kinds: ClassVar[dict[str, type[Certificate]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Certificate.kinds[cls.__name__] = cls

    @property
    @abstractmethod
    def title(self) -> str:
        """What is certified, and where it stands in the paper."""

    @property
    @abstractmethod
    def setting(self) -> dict[str, str]:
        """What the claim speaks of, by name."""

    @property
    @abstractmethod
    def claim(self) -> str:
        """One sentence with its numbers: no predictor of this kind has a smaller risk."""

    @property
    @abstractmethod
    def numbers(self) -> Numbers:
        """What the claim is made of and what it is compared with, by name, in the order of printing."""

    @property
    @abstractmethod
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """What the paper's theorem asks for, and by how much it is met."""

    @property
    @abstractmethod
    def holds(self) -> bool:
        """Whether the claim holds here and says something."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """One sentence: whether the claim holds here, and if not, whether it fails or says nothing."""

    @abstractmethod
    def verify(self) -> Verification:
        """Compute the certificate by another route; raise a :class:`DisagreementError` if the two differ."""

    def __str__(self) -> str:
        wide = max(map(len, [*self.setting, *self.numbers]), default=0)
        lines = [self.title, ""]
        lines += [f"  {name:{wide}}  {text}" for name, text in self.setting.items()]
        lines += ["", *textwrap.wrap(f"Claim: {self.claim}", _WIDTH), ""]
        lines += [f"  {name:{wide}}  {written(value)}" for name, value in self.numbers.items()]
        lines += ["", "Hypotheses of the paper's theorem:", *(f"  {hypothesis}" for hypothesis in self.hypotheses), ""]
        return "\n".join([*lines, *textwrap.wrap(f"Verdict: {self.verdict}", _WIDTH)])

    def document(self) -> dict[str, Any]:
        """The certificate as plain data: what it is made of, and all that it says."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # pyright: ignore[reportArgumentType]
        return {
            "schema": _SCHEMA,
            "certificate": type(self).__name__,
            "fields": {name: describe(value, name) for name, value in fields.items()},
            "title": self.title,
            "setting": self.setting,
            "claim": self.claim,
            "numbers": {name: value if math.isfinite(value) else None for name, value in self.numbers.items()},
            "hypotheses": [
                {
                    "text": one.text,
                    "measured": one.measured,
                    "bound": one.bound,
                    "at_least": one.at_least,
                    "holds": one.holds,
                }
                for one in self.hypotheses
            ],
            "holds": self.holds,
            "verdict": self.verdict,
        }

    def to_json(self) -> str:
        """The certificate as JSON, from which :func:`from_json` makes it again."""
        return json.dumps(self.document(), ensure_ascii=False, allow_nan=False)


def from_json(text: str) -> Certificate:
    """The certificate that :meth:`Certificate.to_json` wrote.

    Only what it is made of is read; all that it says is computed from that. Its :meth:`Certificate.verify` computes
    the rest again.

    Arguments:
        text: JSON.
    """
    try:
        found = json.loads(text)
        name, fields = found["certificate"], found["fields"]
    except (ValueError, TypeError, KeyError):
        raise InputError(f"a certificate must be the JSON of Certificate.to_json, got {shown(text)}") from None
    require(found.get("schema") == _SCHEMA, f"a certificate must have schema {_SCHEMA}, got {found.get('schema')}")
    require(
        isinstance(name, str) and name in Certificate.kinds and isinstance(fields, dict),
        f"a certificate must be one of {', '.join(sorted(Certificate.kinds))}, got {shown(name)}",
    )
    try:
        return Certificate.kinds[name](**{key: build(value) for key, value in fields.items()})
    except TypeError:
        raise InputError(f"the fields of the certificate {name} do not fit, got {shown(sorted(fields))}") from None


def written(value: float) -> str:
    """A number as certificates show it: whole numbers in full, others with four digits."""
    if isinstance(value, int) or (math.isfinite(value) and value == round(value) and abs(value) < 1e15):
        return f"{int(value)}" if abs(value) < 1e15 else f"{float(value):.4g}"
    return f"{value:.4g}"
