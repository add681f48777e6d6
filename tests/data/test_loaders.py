"""Loaders give one problem, however they shuffle."""

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler, TensorDataset

from beyondkernels.core import digest
from beyondkernels.data import given

X = torch.arange(60.0).reshape(30, 2)
SET = TensorDataset(X, torch.arange(30) % 3)
PLAIN = digest(given(SET))


def halved(items):
    return torch.stack([x for x, _ in items]) / 2, torch.stack([y for _, y in items])


@pytest.mark.parametrize(
    "loader",
    [
        DataLoader(SET, batch_size=7, shuffle=True),
        DataLoader(SET, batch_size=7, shuffle=True, drop_last=True),
        DataLoader(SET, batch_size=7, sampler=RandomSampler(SET)),
        DataLoader(SET, shuffle=True, generator=torch.Generator().manual_seed(3)),
    ],
    ids=["shuffle", "drop last", "sampler", "generator"],
)
def test_a_shuffled_loader_is_read_in_order_and_whole(loader):
    assert digest(given(loader)) == PLAIN


def test_batches_are_put_together_as_the_loader_does():
    problem = given(DataLoader(SET, batch_size=7, shuffle=True, collate_fn=halved))
    assert digest(problem) == digest(given((X / 2, SET.tensors[1])))


class Turned(DataLoader):
    def __iter__(self):  # pyright: ignore[reportIncompatibleMethodOverride]
        for x, y in super().__iter__():
            yield -x, y


def read(loader: DataLoader) -> list[list[float]]:
    problem = given(loader, test=(X + 100, SET.tensors[1]))
    return problem.arrays["train_x"].tolist()


def test_other_samplers_stay_as_they_are():
    back = list(range(29, -1, -1))
    assert read(DataLoader(SET, sampler=back)) == X.flip(0).tolist()
    assert read(DataLoader(SET, batch_sampler=BatchSampler(back, 7, drop_last=True))) == X.flip(0)[:28].tolist()
    assert read(DataLoader(SET, batch_size=7, drop_last=True)) == X[:28].tolist()
    assert read(DataLoader(SET, sampler=SequentialSampler(range(20)))) == X[:20].tolist()
    assert len(read(DataLoader(SET, sampler=RandomSampler(SET, num_samples=12)))) == 12
    assert len(read(DataLoader(SET, sampler=RandomSampler(SET, replacement=True, num_samples=50)))) == 50
    assert read(DataLoader(SET, sampler=RandomSampler(SET, replacement=True))) != X.tolist()
    assert max(np.ravel(read(Turned(SET, shuffle=True)))) <= 0
