"""Training rules: stages of pure steps."""

from beyondkernels.algorithms import optimisers as optimisers
from beyondkernels.algorithms.base import (
    Algorithm as Algorithm,
    Batch as Batch,
    CompiledRule as CompiledRule,
    Stage as Stage,
    StepResult as StepResult,
    declared_rule as declared_rule,
)
from beyondkernels.algorithms.blockwise import Blockwise as Blockwise, Corrected as Corrected
from beyondkernels.algorithms.descent import ByOptimiser as ByOptimiser, Descent as Descent
from beyondkernels.algorithms.feature_learning import FeatureLearning as FeatureLearning
from beyondkernels.algorithms.feature_learning_steps import (
    ProcessSettings as ProcessSettings,
    StepSettings as StepSettings,
)
from beyondkernels.algorithms.gradient import loss_and_gradient as loss_and_gradient
from beyondkernels.algorithms.layerwise import Layerwise as Layerwise
from beyondkernels.algorithms.losses import (
    ClassHinge as ClassHinge,
    ClassWeighted as ClassWeighted,
    CrossEntropy as CrossEntropy,
    Hinge as Hinge,
    Loss as Loss,
    PseudoHuber as PseudoHuber,
    Scaled as Scaled,
    Softmax as Softmax,
    Squared as Squared,
)
from beyondkernels.algorithms.one_pass import OnePass as OnePass
from beyondkernels.algorithms.recipe import LOSSES as LOSSES, Recipe as Recipe, named_loss as named_loss
from beyondkernels.algorithms.sgd import GradientDescent as GradientDescent
from beyondkernels.algorithms.staged import Staged as Staged
from beyondkernels.algorithms.view import MemberView as MemberView, Transition as Transition
from beyondkernels.core.boundary import check_exports as _check_exports

_check_exports(globals())
