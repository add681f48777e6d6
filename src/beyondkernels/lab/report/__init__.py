"""Claims, figure kinds, tables and static pages: plain data in, files out; nothing is trained here."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.lab.report.claims import (
    Above as Above,
    AtLeast as AtLeast,
    AtMost as AtMost,
    Below as Below,
    Between as Between,
    Claim as Claim,
    Condition as Condition,
    Judged as Judged,
)
from beyondkernels.lab.report.figures.base import Figure as Figure
from beyondkernels.lab.report.figures.curves import Curves as Curves, Event as Event, Level as Level, Line as Line
from beyondkernels.lab.report.figures.directions import Directions as Directions, Panel as Panel
from beyondkernels.lab.report.figures.dots import Dot as Dot, DotColumn as DotColumn, Dots as Dots
from beyondkernels.lab.report.figures.histogram import Distribution as Distribution, Histogram as Histogram
from beyondkernels.lab.report.figures.pictures import PictureRow as PictureRow, Pictures as Pictures
from beyondkernels.lab.report.figures.render import render_png as render_png, render_svg as render_svg
from beyondkernels.lab.report.figures.scatter import Marks as Marks, Scatter as Scatter
from beyondkernels.lab.report.intervals import (
    ANY as ANY,
    NON_NEGATIVE as NON_NEGATIVE,
    PERCENT as PERCENT,
    SHARE as SHARE,
    Range as Range,
    mean_interval as mean_interval,
)
from beyondkernels.lab.report.numbers import show_exactly as show_exactly, show_number as show_number
from beyondkernels.lab.report.pages import (
    Difference as Difference,
    ExperimentPage as ExperimentPage,
    Setting as Setting,
)
from beyondkernels.lab.report.prose import line_text as line_text
from beyondkernels.lab.report.site import write_report as write_report
from beyondkernels.lab.report.tables import (
    Column as Column,
    html_table as html_table,
    to_csv as to_csv,
    to_json as to_json,
)
from beyondkernels.lab.report.verdicts import (
    STATES as STATES,
    State as State,
    count_verdicts as count_verdicts,
    state_of as state_of,
    verdict_sentence as verdict_sentence,
)

_check_exports(globals())
