"""``bk certify``."""

from __future__ import annotations

import json

from beyondkernels.certificates import KERNELS, certify, named_kernel
from beyondkernels.certificates.krawtchouk import LARGEST_CUBE
from beyondkernels.certificates.universal import require_alpha, require_sizes
from beyondkernels.core import InputError, require
from beyondkernels.lab.declaration.settings import parsed
from beyondkernels.papers.resnet.certificates.hard_instance import MOST_DRAWN
from beyondkernels.papers.resnet.problems import HardInstance

ALL = "any"
"""The name that stands for all kernels."""


def print_certificate(
    kernel: str | None, sizes: dict[str, str | None], alpha: str | None, seed: str | None, verify: bool, as_json: bool
) -> None:
    """Make a certificate and print it.

    Arguments:
        kernel: its name.
        sizes: d, k and N by the options that give them.
        alpha: α.
        seed: of training points and targets.
        verify: whether to compute it a second time.
        as_json: whether to print JSON.
    """
    if kernel is None:
        raise InputError(f"no kernel is named; --kernel takes {', '.join(KERNELS)}, or {ALL} for all kernels at once")
    chosen = None if kernel == ALL else named_kernel(kernel)
    for name, word in sizes.items():
        if word is None:
            raise InputError(f"{name} is missing; bk certify --kernel gaussian --d 30 --k 3 --n 200 is an example")
    d, k, n = (parsed(name, word, int) for name, word in sizes.items())
    a = 0.3 if alpha is None else parsed("--alpha", alpha, float)
    number = 0 if seed is None else parsed("--seed", seed, int)
    require(k >= 2, f"--k must be at least 2, since a parity of one sign is linear, got {k}")
    require(d >= k, f"--d must be at least --k = {k}, because a parity has k different coordinates, got {d}")
    require(n >= 1, f"--n must be at least 1, since without training points there is no predictor, got {n}")
    require(a > 0, f"--alpha must be positive, since without it the targets have no parity, got {a:g}")
    if chosen is not None:
        for name, value, most in (("--d", d, LARGEST_CUBE), ("--n", n, MOST_DRAWN)):
            require(
                value <= most,
                f"{name} must be at most {most} for the exact risk of one kernel, got {value}; --kernel {ALL} has no "
                "such limit",
            )
    require_sizes(d, k, None)
    require_alpha(a)
    certificate = certify(chosen, HardInstance(dim=d, outputs=k, alpha=a), n=n, seed=number)
    second = certificate.verify() if verify else None
    if as_json:
        checked = {} if second is None else {"verification": str(second), "agrees": second.agrees}
        print(json.dumps(certificate.document() | checked, indent=1, ensure_ascii=False, allow_nan=False))
        return
    print(certificate)
    if second is not None:
        print(f"\nVerified: it {second}.")
