"""An audit of a user's own model: how much of its accuracy is features, when they appear, where, and what they are."""

from beyondkernels.auditing.entry import audit as audit
from beyondkernels.auditing.experiment import Audit as Audit
from beyondkernels.auditing.given_weights import GivenAudit as GivenAudit
from beyondkernels.auditing.ladder import Rung as Rung, ladder as ladder
from beyondkernels.auditing.many import Audits as Audits, audit_many as audit_many
from beyondkernels.auditing.result import AuditResult as AuditResult
from beyondkernels.auditing.settings import PARTS as PARTS, AuditSettings as AuditSettings
from beyondkernels.auditing.subject import Subject as Subject, subject_of as subject_of
from beyondkernels.core.boundary import check_exports as _check_exports

_check_exports(globals())
