"""The frame for experiments: coordinates, searches, one tidy table, and claims, tables and figures over it."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.lab.declaration.bisection import Bisection as Bisection, Needed as Needed
from beyondkernels.lab.declaration.evaluation import (
    Reading as Reading,
    expected as expected,
    judge as judge,
    specs_of as specs_of,
    stated as stated,
    table_of as table_of,
)
from beyondkernels.lab.declaration.experiment import (
    SCALES as SCALES,
    THREE_SETS as THREE_SETS,
    Experiment as Experiment,
    Scale as Scale,
    scale as scale,
)
from beyondkernels.lab.declaration.pictures import (
    Dotted as Dotted,
    Drawn as Drawn,
    Over as Over,
    OverTime as OverTime,
    Picture as Picture,
    Scope as Scope,
    by_seed as by_seed,
)
from beyondkernels.lab.declaration.quantities import Quantities as Quantities, Quantity as Quantity
from beyondkernels.lab.declaration.rows import (
    Rows as Rows,
    Series as Series,
    Where as Where,
    select as select,
    tabulate as tabulate,
    tidy as tidy,
)
from beyondkernels.lab.declaration.runs import (
    Again as Again,
    At as At,
    Finished as Finished,
    Label as Label,
    Runs as Runs,
    Searched as Searched,
    exact as exact,
)
from beyondkernels.lab.declaration.search_axes import Axis as Axis
from beyondkernels.lab.declaration.settings import (
    Backend as Backend,
    Count as Count,
    Counts as Counts,
    Seeds as Seeds,
    Size as Size,
    Sizes as Sizes,
    as_word as as_word,
    changed as changed,
    departures as departures,
    described as described,
    setting as setting,
)
from beyondkernels.lab.declaration.statements import (
    Crossing as Crossing,
    Provided as Provided,
    Statement as Statement,
    claim as claim,
)
from beyondkernels.lab.declaration.tables import Shown as Shown, Table as Table
from beyondkernels.lab.declaration.texts import fill as fill, read_text as read_text
from beyondkernels.lab.declaration.values import Value as Value, least as least, of as of

_check_exports(globals())
