"""Certificates: lower bounds on the error of every predictor of some kind, with their hypotheses and a verdict."""

from beyondkernels.theory.certificates.best_risk import BestRisk
from beyondkernels.theory.certificates.catalecticant import sphere_spectrum, uniform_tail, weighted_tails
from beyondkernels.theory.certificates.certificate import Certificate, DisagreementError, Verification, from_json
from beyondkernels.theory.certificates.certify import certify
from beyondkernels.theory.certificates.coefficients import DegreeCoefficients, degree_coefficients
from beyondkernels.theory.certificates.correlation import CorrelationCertificate, certify_correlation
from beyondkernels.theory.certificates.degree_span import DegreeSpan
from beyondkernels.theory.certificates.feature_certificate import FeatureCertificate, certify_features
from beyondkernels.theory.certificates.hard_class import HardClass
from beyondkernels.theory.certificates.kernel_certificate import KernelCertificate, certify_kernel
from beyondkernels.theory.certificates.krawtchouk import krawtchouk
from beyondkernels.theory.certificates.named import KERNELS, named_kernel
from beyondkernels.theory.certificates.neuron_certificate import NeuronCertificate
from beyondkernels.theory.certificates.span import EnumeratedSpan, Span
from beyondkernels.theory.certificates.sparse_certificate import SparseTargetCertificate, top_coefficient
from beyondkernels.theory.certificates.universal import UniversalCertificate, threshold_share

__all__ = [
    "KERNELS",
    "BestRisk",
    "Certificate",
    "CorrelationCertificate",
    "DegreeCoefficients",
    "DegreeSpan",
    "DisagreementError",
    "EnumeratedSpan",
    "FeatureCertificate",
    "HardClass",
    "KernelCertificate",
    "NeuronCertificate",
    "Span",
    "SparseTargetCertificate",
    "UniversalCertificate",
    "Verification",
    "certify",
    "certify_correlation",
    "certify_features",
    "certify_kernel",
    "degree_coefficients",
    "from_json",
    "krawtchouk",
    "named_kernel",
    "sphere_spectrum",
    "threshold_share",
    "top_coefficient",
    "uniform_tail",
    "weighted_tails",
]
