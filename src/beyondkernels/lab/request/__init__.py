"""From an experiment's name to its result: requests, rounds, estimates, progress, and what a store keeps of it."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.lab.catalogue import CATALOGUE as CATALOGUE, find as find
from beyondkernels.lab.papers import PAPERS as PAPERS, paper_of as paper_of
from beyondkernels.lab.request.forecast import Forecast as Forecast, dry_run as dry_run
from beyondkernels.lab.request.kept_results import (
    judged_again as judged_again,
    kept_path as kept_path,
    out_of_date as out_of_date,
    write_judged as write_judged,
    write_kept as write_kept,
)
from beyondkernels.lab.request.progress import Display as Display, Observer as Observer
from beyondkernels.lab.request.request import Request as Request, ask as ask
from beyondkernels.lab.request.result import Result as Result
from beyondkernels.lab.request.runner import run as run, store_path as store_path, stored as stored
from beyondkernels.lab.request.stored_page import (
    HOW_TO_SEE_ALL as HOW_TO_SEE_ALL,
    is_known as is_known,
    page_from_store as page_from_store,
)

_check_exports(globals())
