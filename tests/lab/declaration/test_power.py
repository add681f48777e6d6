import pytest

from beyondkernels.lab import (
    NON_NEGATIVE,
    SHARE,
    AtLeast,
    AtMost,
    Quantities,
    Quantity,
    Value,
    claim,
    least,
    of,
    tabulate,
)
from beyondkernels.lab.declaration.power import noticed, wrong_tables

QUANTITIES = Quantities(
    error=Quantity("error", within=NON_NEGATIVE, better="less"),
    share=Quantity("share", within=SHARE, better="more"),
    gain=Quantity("gain"),
)
ROWS = tabulate(
    {"method": method, "n": n, "seed": seed, "error": error / n + seed / 1000, "share": 0.9, "gain": 1.0}
    for method, error in (("network", 1.0), ("kernel", 50.0))
    for n in (1, 2, 4)
    for seed in (0, 1)
)


@pytest.mark.parametrize(
    ("value", "test", "notices"),
    [
        (of("error", method="kernel", n=1) - of("error", method="network", n=1), AtLeast(10), "method exchanged"),
        (of("error", "n", method="network").slope(), AtMost(-0.9), "n exchanged"),
        (of("error", method="network", n=1), AtMost(5), "nothing learnt"),
        (of("error", method="network", n=1), AtMost(5), "error × 10"),
        (of("error", method="kernel", n=1), AtLeast(45), "error / 10"),
        (of("gain", method="kernel", n=1), AtLeast(0), "−gain"),
        (least("share", per_seed=False), AtLeast(0.5), "share / 10"),
    ],
)
def test_a_claim_notices_what_concerns_it(value: Value, test: AtMost, notices: str) -> None:
    assert notices in noticed([claim("id", "…", value, test)], ROWS, QUANTITIES)["id"]


def test_a_claim_that_cannot_fail_notices_nothing_and_one_that_fails_is_not_asked() -> None:
    statements = [
        claim("trivial", "…", of("error", "n", method="network"), AtLeast(0)),
        claim("fails", "…", of("error", method="network", n=1), AtLeast(5)),
    ]
    assert noticed(statements, ROWS, QUANTITIES) == {"trivial": []}


def test_of_what_is_so_or_not_the_opposite_is_wrong() -> None:
    rows = ROWS.assign(share=1.0)
    found = noticed([claim("id", "…", of("share", method="network", n=1).share(), AtLeast(0.1))], rows, QUANTITIES)
    assert found == {"id": ["not share"]}


def test_wrong_tables_keep_their_coordinates_and_what_can_be() -> None:
    statements = [claim("id", "…", of("error", "n", method="network") / of("share", "n", method="network"), AtMost(9))]
    before = ROWS.copy()
    tables = dict(wrong_tables(statements, ROWS, QUANTITIES))
    assert ROWS.equals(before)
    for name, table in tables.items():
        assert table[["method", "n", "seed"]].equals(ROWS[["method", "n", "seed"]]), name
        assert not table.equals(ROWS), name
        assert table["share"].between(0, 1).all(), name
    exchanged = tables["method exchanged"].set_index(["method", "n", "seed"])["error"].sort_index()
    right = ROWS.set_index(["method", "n", "seed"])["error"].sort_index()
    assert exchanged["network"].equals(right["kernel"]) and exchanged["kernel"].equals(right["network"])
    turned = tables["n exchanged"].set_index(["method", "seed", "n"])["error"].sort_index()
    assert turned["network", 1].tolist() == right["network"].unstack()[1].tolist()[::-1]
    assert sorted(tables["shuffled"]["error"]) == sorted(ROWS["error"])
