"""How numbers are written for people: few digits, no surprises, the same in claims, tables and figures."""

from __future__ import annotations

import math
from typing import Any

MISSING = "–"
"""What stands where a number is missing or not finite."""

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_TINY = 1e-3  # below this, leading zeros are harder to read than a power of ten
_HUGE = 1e7
_ROUNDING = 1e-9  # of differences of numbers up to 100


def is_number(value: Any) -> bool:
    """Whether a value is a real number (Python's or NumPy's), and not a truth value."""
    if isinstance(value, bool | str) or value is None:
        return False
    if getattr(getattr(value, "dtype", None), "kind", "f") not in "iuf" or getattr(value, "shape", ()) != ():
        return False
    return hasattr(value, "__float__")


def default_decimals(value: float, unit: str = "") -> int:
    """How many decimals a number is given: one for percentages, three significant digits otherwise.

    >>> default_decimals(86.4, "%"), default_decimals(0.114), default_decimals(1350.0)
    (1, 3, 0)
    """
    if unit == "%":
        return 1
    if value == 0 or not math.isfinite(value):
        return 0
    return min(max(2 - math.floor(math.log10(abs(value))), 0), 9)


def show_number(value: float | None, unit: str = "", decimals: int | None = None) -> str:
    """A number with its unit; a dash when there is none.

    Arguments:
        value: the number.
        unit: written behind it, such as ``%``.
        decimals: how many decimals; chosen by size unless given.

    >>> show_number(86.4, "%"), show_number(0.9974), show_number(50_000), show_number(4.2e-08), show_number(None)
    ('86.4 %', '0.997', '50,000', '4.2 × 10⁻⁸', '–')
    >>> show_number(4.7e-15, "points")  # differences of per cents, so this is rounding
    '0 points'
    """
    if value is None or not math.isfinite(value):
        return MISSING
    value = 0.0 if unit == "points" and abs(value) < _ROUNDING else float(value)
    if decimals is None and value != 0 and not _TINY <= abs(value) < _HUGE and not (unit == "%" and abs(value) < _HUGE):
        text = power_of_ten(f"{value:.1e}")
    elif decimals is None and value.is_integer() and unit != "%":
        text = f"{value:,.0f}"
    else:
        text = f"{value:,.{default_decimals(value, unit) if decimals is None else decimals}f}"
        if not text.strip("-0.,"):  # "-0.0" is a rounding error, not a sign
            text = text.lstrip("-")
    return f"{text.replace('-', '−')} {unit}".rstrip()


def power_of_ten(text: str) -> str:
    """Python's exponent notation as people write it.

    >>> power_of_ten("2.5e-05"), power_of_ten("1e-08"), power_of_ten("0.5"), power_of_ten("1.2e+00")
    ('2.5 × 10⁻⁵', '10⁻⁸', '0.5', '1.2')
    """
    mantissa, e, exponent = text.partition("e")
    if not e or int(exponent) == 0:
        return mantissa
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return {"1": power, "-1": f"-{power}"}.get(mantissa, f"{mantissa} × {power}")


def show_exactly(value: Any) -> str:
    """A setting or a fact of provenance with nothing rounded away.

    >>> show_exactly(1e-08), show_exactly(50_000), show_exactly((0.1, 0.2)), show_exactly(True), show_exactly(None)
    ('10⁻⁸', '50,000', '0.1, 0.2', 'yes', 'none')
    >>> show_exactly((5000, 20_000))
    '5000, 20000'
    """
    if value is None:
        return "none"
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return MISSING if math.isnan(value) else ("∞" if value > 0 else "−∞")
        return power_of_ten(repr(value)).replace("-", "−")
    if isinstance(value, dict):
        return ", ".join(f"{key} {show_exactly(item)}" for key, item in value.items())
    if isinstance(value, tuple | list):
        whole = all(type(item) is int for item in value)  # beside commas that part numbers there are none within them
        return ", ".join(map(str if whole else show_exactly, value)) or "none"
    return str(value)


def plain(value: Any) -> Any:
    """Data as JSON can hold it: NumPy's numbers become Python's, and what is not finite becomes null.

    >>> plain({"a": float("nan"), "b": (1, 2.5)})
    {'a': None, 'b': [1, 2.5]}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)
