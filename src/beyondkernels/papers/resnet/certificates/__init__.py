"""Lower bounds of the paper, computed and checked."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.papers.resnet.certificates.best_risk import BestRisk as BestRisk
from beyondkernels.papers.resnet.certificates.correlation import (
    CorrelationCertificate as CorrelationCertificate,
    certify_correlation as certify_correlation,
)
from beyondkernels.papers.resnet.certificates.feature_certificate import (
    FeatureCertificate as FeatureCertificate,
    certify_features as certify_features,
)
from beyondkernels.papers.resnet.certificates.hard_class import HardClass as HardClass
from beyondkernels.papers.resnet.certificates.hard_instance import certify_hard_instance as certify_hard_instance
from beyondkernels.papers.resnet.certificates.kernel_certificate import (
    KernelCertificate as KernelCertificate,
    certify_kernel as certify_kernel,
)

_check_exports(globals())
