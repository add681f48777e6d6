"""Best risks as runs: the numbers are the certificate's."""

import pytest

import beyondkernels as bk
from beyondkernels import kernels
from beyondkernels.execution.outcomes import cases_of, perform
from beyondkernels.papers.resnet import BestRisk, HardInstance
from beyondkernels.papers.resnet.certificates.instance import InstanceCertificate
from beyondkernels.store import RunSpec

PROBLEM = HardInstance(dim=9, outputs=3, alpha=0.3)


@pytest.mark.parametrize(
    "what",
    [kernels.Gaussian(1.0), kernels.RandomFeatureKernel(kernels.GaussianFeatures(7)), kernels.GaussianFeatures(11)],
    ids=["closed form", "enumeration", "features"],
)
def test_scalars_are_the_certificates(what):
    spec = RunSpec(PROBLEM, BestRisk(what, targets=40, seed=2), 15, 0, 5)
    found = perform([spec])[0]
    x = cases_of([spec])[0].train.x if isinstance(what, kernels.Kernel) else None
    certificate = bk.certify(what, PROBLEM, x, targets=40, seed=2)
    assert isinstance(certificate, InstanceCertificate)
    assert found.arrays["risks"].tolist() == list(certificate.risks)
    assert found.scalars["risk"] == certificate.mean
    assert found.scalars["own_risk"] == certificate.own
    assert found.scalars["learnt_share"] == certificate.learnt_share
    assert found.scalars["left_out"] == certificate.left_out
    assert found.scalars["bound"] == certificate.universal.mean_risk
    assert found.scalars["bound_share"] == certificate.universal.learnable_share
    assert (found.scalars["smallest_risk"], found.scalars["largest_risk"]) == (
        min(certificate.risks),
        max(certificate.risks),
    )
