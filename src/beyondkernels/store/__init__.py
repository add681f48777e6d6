"""The store: specifications of runs, their keys, their directories, checkpoints, quarantine. Nothing imports torch."""

from beyondkernels.core.boundary import check_exports as _check_exports
from beyondkernels.store.device import (
    PROCESSOR as PROCESSOR,
    require_device as require_device,
    require_device_name as require_device_name,
)
from beyondkernels.store.errors import MissingRunError as MissingRunError
from beyondkernels.store.keys import is_key as is_key, key_of as key_of
from beyondkernels.store.provenance import provenance as provenance
from beyondkernels.store.run_directory import StoredRun as StoredRun
from beyondkernels.store.spec import RunSpec as RunSpec
from beyondkernels.store.store import Finding as Finding, ListedRun as ListedRun, Store as Store, StoreSize as StoreSize

_check_exports(globals())
