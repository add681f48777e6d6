"""The distribution of a sum of signs, signed by the label, in the mixture of App. C."""

from __future__ import annotations

from collections.abc import Sequence

import torch


class SignedLaws:
    r"""The law of :math:`v = \sum_j n_j z_j` with whole numbers n, signed by :math:`y = \prod_{j \in A} z_j`.

    Its characteristic function is a product over patterns. For uniform signs

    .. math:: E[y\,e^{itv}] = \prod_{j \notin A} \cos(n_j t) \prod_{j \in A} i\sin(n_j t)

    In the other part of the mixture the signs in A are equal, and each of them is y, as k is odd. As v is a whole
    number between −V and V, its law follows from 2V + 1 values of t, without any error but rounding.

    Arguments:
        numbers: n, shape (D,).
        relevant: A.
        background: :math:`p_o`; in the other part a background pattern is present with probability p_o/(2 − 2p_o).

    >>> laws = SignedLaws(torch.tensor([1.0, 2.0]), (0,), 0.5)
    >>> [round(laws.uniform()[laws.sums == v].item(), 12) for v in (-3, -1, 1, 3)]
    [-0.25, 0.25, -0.25, 0.25]
    """

    def __init__(self, numbers: torch.Tensor, relevant: Sequence[int], background: float):
        self._numbers, self._A, self._p = numbers, list(relevant), background / (2 - 2 * background)
        most = int(numbers.abs().sum())
        values = torch.arange(2 * most + 1, dtype=torch.float64)
        self._t = values[: most + 1] * (2 * torch.pi / (2 * most + 1))  # the law is real: half of the values suffice
        self._cosines, self._sines = self._waves(numbers)
        self.sums = torch.where(values > most, values - (2 * most + 1), values)
        """The values of v, in the order of the laws."""

    def uniform(self, times_signs: bool = False) -> torch.Tensor:
        """E[y·1[v = ·]] over the uniform part, shape (values,).

        Arguments:
            times_signs: whether each sign is a factor too: E[y·z_j·1[v = ·]], shape (D, values).
        """
        cosines, sines = self._cosines, self._sines
        among = torch.zeros(len(self._numbers), 1, dtype=torch.bool)
        among[self._A] = True
        factors = torch.where(among, sines, cosines)
        if not times_signs:
            return self._law(_product(factors))
        return self._law(_without_each(factors) * torch.where(among, cosines, sines))

    def other(self, times_signs: bool = False) -> torch.Tensor:
        """The same over the part in which all relevant patterns are present or none is.

        Arguments:
            times_signs: as for :meth:`uniform`.
        """
        cosines, sines = self._cosines, self._sines
        tilt = 2 * self._p - 1
        together, labelled = (wave[0] for wave in self._waves(self._numbers[self._A].sum()[None]))
        factors = cosines + tilt * sines
        factors[self._A] = 1.0
        if not times_signs:
            return self._law(_product(factors) * labelled)
        found = _without_each(factors) * (tilt * cosines + sines) * labelled
        found[self._A] = _product(factors) * together  # y·z_j = 1 there
        return self._law(found)

    def _waves(self, numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """E[exp(itnz)] and E[z·exp(itnz)] for a fair sign z: the cosine, and i times the sine."""
        angles = numbers[:, None] * self._t
        return angles.cos().to(torch.complex128), 1j * angles.sin()

    def _law(self, characteristic: torch.Tensor) -> torch.Tensor:
        return torch.fft.irfft(characteristic.conj(), n=len(self.sums))


def _product(factors: torch.Tensor) -> torch.Tensor:
    """The product of all rows, in pairs, which is faster than one after the other."""
    while len(factors) > 1:
        half = len(factors) // 2
        factors = torch.cat([factors[:half] * factors[half : 2 * half], factors[2 * half :]])
    return factors[0]


def _without_each(factors: torch.Tensor) -> torch.Tensor:
    """The product of all rows but one, for each of them."""
    ones = torch.ones_like(factors[:1])
    before = torch.cat([ones, factors[:-1].cumprod(0)])
    after = torch.cat([factors[1:].flip(0).cumprod(0).flip(0), ones])
    return before * after
