"""The convolutional learner, patch by patch, and in training."""

import torch

from beyondkernels.core import Stream
from beyondkernels.engine import Member, train
from beyondkernels.papers.overparam import ConvolutionalLearner, TwoLayerLearner, TwoLayerSGD
from beyondkernels.papers.overparam.problems import ConvolutionalTruth, UnitInputs, windows

PATCHES = ((0, 2), (3, 1), (1, 2))


def test_patch_by_patch():
    network = ConvolutionalLearner(5, PATCHES, 0.5)
    params, buffers = network.init((4, 3), 2, Stream(0))
    x = Stream(1).normal(6, 4, 3)
    out = network.apply(params, buffers, x)[0]
    expected = torch.zeros(6, 2)
    for n in range(6):
        for i, patch in enumerate(PATCHES):
            part = torch.cat([x[n, row] for row in patch])
            h = torch.relu(params["W"] @ part + buffers["b1"])
            expected[n] += buffers["a"][:, 5 * i : 5 * (i + 1)] @ h
    torch.testing.assert_close(out, expected)


def test_one_patch_is_the_two_layer_learner():
    x = Stream(1).normal(6, 2, 3)
    params, buffers = TwoLayerLearner(5).init(6, 2, Stream(0))
    one = ConvolutionalLearner(5, ((0, 1),))
    assert all(torch.equal(value, one.init((2, 3), 2, Stream(0))[0][name]) for name, value in params.items())
    torch.testing.assert_close(one.apply(params, buffers, x)[0], TwoLayerLearner(5).apply(params, buffers, x)[0])


def test_alone_and_in_company_bitwise():
    truth = ConvolutionalTruth(UnitInputs(3), 4, windows(4, 2))
    members = [
        Member(
            ConvolutionalLearner(7, windows(4, 2)), TwoLayerSGD(8, 0.2, batch=2), truth.sample(9, Stream(i)), Stream(i)
        )
        for i in (0, 1, 0)
    ]
    for member in members:
        member.start(truth.in_shape, 1)
    before = members[0].params["W"].clone()
    with torch.no_grad():
        train(members[:2], [frozenset()] * 2, lambda _: None)
        train(members[2:], [frozenset()], lambda _: None)
    assert torch.equal(members[0].params["W"], members[2].params["W"])
    assert not torch.equal(members[0].params["W"], before)
