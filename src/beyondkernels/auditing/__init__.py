"""An audit of a user's own model: how much of its accuracy is features, when they appear, where, and what they are."""

from beyondkernels.auditing.experiment import Audit
from beyondkernels.auditing.front import audit
from beyondkernels.auditing.ladder import Rung, ladder
from beyondkernels.auditing.many import Audits, audit_many
from beyondkernels.auditing.result import AuditResult
from beyondkernels.auditing.settings import PARTS, AuditSettings
from beyondkernels.auditing.subject import Subject, subject_of

__all__ = [
    "PARTS",
    "Audit",
    "AuditResult",
    "AuditSettings",
    "Audits",
    "Rung",
    "Subject",
    "audit",
    "audit_many",
    "ladder",
    "subject_of",
]
