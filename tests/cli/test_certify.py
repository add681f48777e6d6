"""``bk certify``: a certificate, as text and as JSON, and one sentence for bad input."""

import json
from typing import Any

import pytest

from beyondkernels.certificates import KERNELS, from_json

SIZES = ("--d", "12", "--k", "3", "--n", "20")


def test_it_prints_a_certificate(bk: Any) -> None:
    answer = bk("certify", "--kernel", "gaussian", *SIZES, "--verify")
    assert answer.exit_code == 0, answer.output
    for words in ("Theorem 2", "Gaussian(bandwidth=1.0)", "N = 20 points", "Hypotheses", "Verdict: 100.00%"):
        assert words in answer.stdout
    assert "Verified: it agrees to" in answer.stdout


@pytest.mark.parametrize("kernel", [*KERNELS, "any"])
def test_every_kernel_as_json(bk: Any, kernel: str) -> None:
    answer = bk("certify", "--kernel", kernel, *SIZES, "--alpha", "0.5", "--seed", "3", "--json")
    document = json.loads(answer.stdout)
    certificate: Any = from_json(answer.stdout)
    assert certificate.document() == document
    bound = 3 * 0.25 * (1 - 20 / 220)
    assert (certificate.mean_risk if kernel == "any" else certificate.universal.mean_risk) == pytest.approx(bound)
    assert document["holds"] is True


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "no kernel is named; --kernel takes gaussian, laplace"),
        (("--kernel", "gauss", *SIZES), "unknown kernel 'gauss', did you mean gaussian?"),
        (("--kernel", "any"), "--d is missing; bk certify --kernel gaussian --d 30"),
        (("--kernel", "any", "--d", "8", "--k", "9", "--n", "3"), "--d must be at least --k = 9"),
        (("--kernel", "any", "--d", "8", "--k", "1", "--n", "3"), "--k must be at least 2, since a parity of one"),
        (("--kernel", "arcsin", "--d", "8", "--k", "2", "--n", "0"), "--n must be at least 1"),
        (("--kernel", "arcsin", *SIZES, "--alpha", "0"), "--alpha must be positive"),
        (("--kernel", "arcsin", *SIZES, "--alpha", "1e-200"), "alpha must lie in [1e-100, 1e+100]"),
        (("--kernel", "arcsin", "--d", "12", "--k", "3", "--n", "9000000"), "--n must be at most 50000"),
        (("--kernel", "arcsin", "--d", "2000", "--k", "3", "--n", "9"), "--d must be at most 500"),
    ],
)
def test_bad_input(bk: Any, words: tuple[str, ...], sentence: str) -> None:
    answer = bk("certify", *words)
    assert answer.exit_code == 2, answer.output
    assert answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    assert line.startswith("bk: ")
    assert sentence in line


def test_a_seed_is_a_seed(bk: Any) -> None:
    first, again, other = (bk("certify", "--kernel", "laplace", *SIZES, "--seed", seed).stdout for seed in (1, 1, 2))
    assert first == again != other
