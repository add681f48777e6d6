"""Certificates: lower bounds on the error of every predictor of some kind, with their hypotheses and a verdict."""

from beyondkernels.certificates.catalecticant import (
    sphere_spectrum as sphere_spectrum,
    uniform_tail as uniform_tail,
    weighted_tails as weighted_tails,
)
from beyondkernels.certificates.certificate import (
    Certificate as Certificate,
    DisagreementError as DisagreementError,
    Verification as Verification,
    from_json as from_json,
)
from beyondkernels.certificates.coefficients import (
    DegreeCoefficients as DegreeCoefficients,
    degree_coefficients as degree_coefficients,
)
from beyondkernels.certificates.degree_span import DegreeSpan as DegreeSpan
from beyondkernels.certificates.door import Certifiable as Certifiable, certify as certify
from beyondkernels.certificates.krawtchouk import krawtchouk as krawtchouk
from beyondkernels.certificates.named_kernels import KERNELS as KERNELS, named_kernel as named_kernel
from beyondkernels.certificates.span import EnumeratedSpan as EnumeratedSpan, Span as Span
from beyondkernels.certificates.universal import (
    UniversalCertificate as UniversalCertificate,
    threshold_share as threshold_share,
)
from beyondkernels.core.boundary import check_exports as _check_exports

_check_exports(globals())
