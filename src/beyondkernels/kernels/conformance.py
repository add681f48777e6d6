"""Checks on a sample that a kernel is a kernel, and an error sentence for a matrix that no kernel has."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import torch

from beyondkernels.core import Stream, require
from beyondkernels.kernels.base import Kernel, points
from beyondkernels.kernels.checks import Numbers
from beyondkernels.kernels.solvers.spectrum import PSD_TOLERANCE

Difference: TypeAlias = tuple[str, torch.Tensor, torch.Tensor]
"""Where two routes to the same entries differ, by how much, and the yardstick."""


@dataclass(frozen=True)
class Finding:
    """One property of a kernel on a sample.

    Arguments:
        property: its name.
        holds: whether the kernel keeps it.
        worst: how far it is missed where it is missed most.
        allowed: how far it may be missed.
        sentence: the same in words.
    """

    property: str
    holds: bool
    worst: float
    allowed: float
    sentence: str

    def __str__(self) -> str:
        return f"{self.property}: {'holds' if self.holds else 'FAILS'}, {self.sentence}"


def check_kernel(
    kernel: Kernel,
    x: Numbers,
    *,
    stream: Stream | None = None,
    tolerance: float | None = None,
    error: float | None = None,
    psd_tolerance: float = PSD_TOLERANCE,
) -> tuple[Finding, ...]:
    r"""Check on a sample that a function is a kernel, and that each entry depends on its two points alone.

    Differences of entries are measured relative to :math:`\sqrt{K(x, x) K(y, y)}`, the most an entry can be, beyond the
    error that the kernel states for itself. The findings, in this order:

    - ``output``: matrices and diagonals are finite, float64 and of the right shape;
    - ``fresh``: a caller who writes to what was returned changes neither the points nor what comes next;
    - ``symmetric``: blocks are the transposes of their mirror images, and ``kernel(x)`` is exactly symmetric;
    - ``diagonal``: ``diagonal`` is the diagonal of ``kernel(x)``, and what blocks hold where points coincide;
    - ``batches``: blocks of any size, in any order of the points, hold the same entries;
    - ``Cauchy-Schwarz``: :math:`|K(x, y)| \le \sqrt{K(x, x) K(y, y)}`, as ``diagonal`` says them;
    - ``positive semi-definite``: no eigenvalue of ``kernel(x)`` is below −psd_tolerance times the largest;
    - ``rotation-invariant``, where the kernel declares it: rotating and reflecting all points changes nothing.

    When one of the first two fails, nothing else can be trusted and it is the last finding.

    Arguments:
        kernel: what is checked.
        x: points of its domain, shape (n, in_dim), at least one.
        stream: where orders and rotations come from.
        tolerance: by how much entries may differ; None for the kernel's own ``accuracy``, 1e-12 unless it says more.
        error: an absolute error that entries may have beyond that; None for ``kernel.error(x)``, 0 unless it says more.
        psd_tolerance: by how much an eigenvalue may be negative.

    >>> from beyondkernels.kernels.classical.gaussian import Gaussian
    >>> for finding in check_kernel(Gaussian(bandwidth=2.0), torch.eye(3)):
    ...     print(finding.property, finding.holds)
    output True
    fresh True
    symmetric True
    diagonal True
    batches True
    Cauchy-Schwarz True
    positive semi-definite True
    rotation-invariant True
    """
    x = points("x", x).clone()
    require(len(x) > 0, "x must hold at least one point, got none")
    stream = stream or Stream(0).child("conformance")
    tolerance = kernel.accuracy if tolerance is None else tolerance
    output = _output(kernel, x.clone())
    if not output.holds:
        return (output,)
    fresh = _fresh(kernel, x.clone())
    if not fresh.holds:
        return output, fresh
    sample = _Sample(kernel, x, tolerance, kernel.error(x) if error is None else error)
    findings = [
        output,
        fresh,
        _symmetric(sample),
        _diagonal(sample, stream.child("copies")),
        _batches(sample, stream.child("orders")),
        _cauchy_schwarz(sample),
        _positive(sample, psd_tolerance),
    ]
    if kernel.rotation_invariant:
        findings.append(_rotation(sample, stream.child("rotation")))
    return tuple(findings)


class _Sample:
    """A kernel's values at the points, computed once, and the scale that differences are divided by."""

    def __init__(self, kernel: Kernel, x: torch.Tensor, tolerance: float, error: float):
        self.kernel, self.x, self.n, self.tolerance = kernel, x, len(x), tolerance
        self.error = error
        self.gram, self.block, self.diagonal = kernel(x), kernel(x, x), kernel.diagonal(x)
        sizes = torch.maximum(self.block.diagonal().abs(), self.diagonal.abs())
        # of a true kernel the first is the larger one; of others, no difference is to be divided by zero
        scale = torch.maximum((sizes[:, None] * sizes).sqrt(), self.block.abs())
        self.scale = scale.clamp_(min=max(2.0**-52 * float(scale.max()), 1e-300))

    def finding(self, name: str, differences: Iterator[Difference]) -> Finding:
        """The largest of the differences, each relative to its yardstick."""
        worst, where = 0.0, "anywhere"
        for what, difference, scale in differences:
            beyond = (difference.abs() - 2 * self.error).clamp_(min=0)  # two routes, each off by as much
            relative = float((beyond / scale).nan_to_num_(nan=math.inf).max())
            if relative > worst:
                worst, where = relative, what
        return Finding(
            name,
            worst <= self.tolerance,
            worst,
            self.tolerance,
            f"with a relative difference of {worst:.2g} {where}; {self.tolerance:.2g} is allowed"
            + (f" beyond the stated error ({self.error:.1g})" if self.error else ""),
        )


def _output(kernel: Kernel, x: torch.Tensor) -> Finding:
    n = len(x)
    results = {  # without what the public methods check, so that it is found here and not raised
        "kernel(x)": (kernel.square(x), (n, n)),
        "kernel(x, x2)": (kernel.block(x, x[: n // 2 + 1]), (n, n // 2 + 1)),
        "diagonal(x)": (kernel._diagonal(x), (n,)),  # noqa: SLF001
    }
    faults = []
    for name, (values, shape) in results.items():
        if tuple(values.shape) != shape:
            faults.append(f"{name} has shape {tuple(values.shape)} and should have {shape}")
        elif values.dtype != torch.float64:
            faults.append(f"{name} is {str(values.dtype).removeprefix('torch.')} and should be float64")
        elif not torch.isfinite(values).all():
            faults.append(f"{name} has {int((~torch.isfinite(values)).sum())} infinite or NaN entries")
    sentence = "; ".join(faults) or "all finite, float64 and of the right shape"
    return Finding("output", not faults, float(len(faults)), 0.0, sentence)


def _fresh(kernel: Kernel, x: torch.Tensor) -> Finding:
    """Write over what was returned and ask again."""
    kept, faults = x.clone(), []
    calls = {
        "kernel(x)": lambda: kernel(x),
        "kernel(x, x)": lambda: kernel(x, x),
        "diagonal(x)": lambda: kernel.diagonal(x),
    }
    for name, call in calls.items():
        first = call()
        before = first.clone()
        try:
            first.add_(7.25)
        except RuntimeError:  # torch's way to say that the tensor is a view of fewer numbers
            faults.append(f"{name} cannot be written to")
            continue
        if not torch.equal(x, kept):
            faults.append(f"{name} shares memory with the points, or changes them")
            x.copy_(kept)
        elif not torch.equal(call(), before):
            faults.append(f"{name} is another when asked again")
    sentence = "; ".join(faults) or "everything may be written to and asked for again"
    return Finding("fresh", not faults, float(len(faults)), 0.0, sentence)


def _symmetric(sample: _Sample) -> Finding:
    def differences() -> Iterator[Difference]:
        yield "within kernel(x, x)", sample.block - sample.block.T, sample.scale
        exact = torch.where(sample.gram == sample.gram.T, 0.0, math.inf)
        yield "within kernel(x), which is to be symmetric exactly", exact, sample.scale
        for m in {1, sample.n // 3, sample.n // 2} - {0, sample.n}:
            x1, x2 = sample.x[:m], sample.x[m:]
            difference = sample.kernel(x1, x2) - sample.kernel(x2, x1).T
            yield f"between kernel(x1, x2) and its mirror image, {m} points in x1", difference, sample.scale[:m, m:]

    return sample.finding("symmetric", differences())


def _diagonal(sample: _Sample, stream: Stream) -> Finding:
    def differences() -> Iterator[Difference]:
        d, scale = sample.diagonal, sample.scale.diagonal()
        yield "from the diagonal of kernel(x)", sample.gram.diagonal() - d, scale
        yield "from the diagonal of kernel(x, x)", sample.block.diagonal() - d, scale
        order = stream.permutation(sample.n)
        copies = sample.kernel(sample.x[order], sample.x)[torch.arange(sample.n), order]
        yield "from the entries of coinciding points", copies - d[order], scale[order]
        for i in range(min(sample.n, 6)):
            one = sample.x[i : i + 1]
            yield f"from the kernel of point {i} with its copy", sample.kernel(one, one.clone())[0] - d[i], scale[i]

    return sample.finding("diagonal", differences())


def _batches(sample: _Sample, stream: Stream) -> Finding:
    n, kernel, x = sample.n, sample.kernel, sample.x

    def differences() -> Iterator[Difference]:
        off = 1 - torch.eye(n, dtype=torch.float64)  # the diagonal has a finding of its own
        middle = (sample.block + sample.block.T) / 2
        yield "between kernel(x) and kernel(x, x)", (sample.gram - middle) * off, sample.scale
        order, other = stream.child("rows").permutation(n), stream.child("columns").permutation(n)
        whole, scale = sample.block[order][:, other], sample.scale[order][:, other]
        for rows, columns in ((1, n), (n, 1), (2, 3), (n // 2 + 1, 7), (n, n)):
            corners = list(itertools.product(range(0, n, rows), range(0, n, columns)))
            for i, j in corners[:: -(-len(corners) // 5)]:  # five blocks of a size are enough
                above, left = slice(i, i + rows), slice(j, j + columns)
                part = kernel(x[order[above]], x[other[left]])
                yield f"in blocks of {rows} × {columns}", part - whole[above, left], scale[above, left]
        for m in {1, 2, n // 2 + 1, n}:
            some = order[:m]
            gram, scale = sample.gram[some][:, some], sample.scale[some][:, some]
            yield f"in kernel(x) of {min(m, n)} points in another order", kernel(x[some]) - gram, scale
            difference = kernel.diagonal(x[some]) - sample.diagonal[some]
            yield f"in the diagonal of {min(m, n)} points in another order", difference, scale.diagonal()

    return sample.finding("batches", differences())


def _cauchy_schwarz(sample: _Sample) -> Finding:
    d = sample.diagonal.clamp(min=0)
    excess = (sample.block.abs() - (d[:, None] * d).sqrt()).clamp_(min=0).fill_diagonal_(0)
    return sample.finding("Cauchy-Schwarz", iter([("above what the diagonal allows", excess, sample.scale)]))


def _positive(sample: _Sample, tolerance: float) -> Finding:
    eigenvalues = torch.linalg.eigvalsh((sample.gram + sample.gram.T) / 2)
    smallest, largest = float(eigenvalues[0]), float(eigenvalues.abs().max())
    worst = max(0.0, -smallest / largest) if largest > 0 else 0.0
    sentence = (
        f"with {smallest:.3g} as the smallest of {sample.n} eigenvalues, {largest:.3g} as the largest in size; "
        f"−{tolerance:g} times that is allowed"
    )
    return Finding("positive semi-definite", worst <= tolerance, worst, tolerance, sentence)


def _rotation(sample: _Sample, stream: Stream) -> Finding:
    def differences() -> Iterator[Difference]:
        in_dim = sample.x.shape[1]
        Q = torch.linalg.qr(stream.normal(in_dim, in_dim, dtype=torch.float64)).Q
        for sign in (1.0, -1.0):  # one of the two is a rotation, the other one reflects too
            x = sample.x @ torch.cat([sign * Q[:, :1], Q[:, 1:]], 1)
            yield "after a rotation", sample.kernel(x, x) - sample.block, sample.scale
            yield "after a rotation", sample.kernel.diagonal(x) - sample.diagonal, sample.scale.diagonal()

    return sample.finding("rotation-invariant", differences())
