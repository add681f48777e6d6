"""The store: specifications of runs, their keys, their directories, checkpoints and quarantine; nothing imports torch."""

from beyondkernels.store.device import PROCESSOR as PROCESSOR
from beyondkernels.store.device import require_device as require_device
from beyondkernels.store.device import require_device_name as require_device_name
from beyondkernels.store.errors import MissingRequestError as MissingRequestError
from beyondkernels.store.errors import MissingRunError as MissingRunError
from beyondkernels.store.keys import is_key as is_key
from beyondkernels.store.keys import key_of as key_of
from beyondkernels.store.provenance import provenance as provenance
from beyondkernels.store.run_directory import StoredRun as StoredRun
from beyondkernels.store.spec import RunSpec as RunSpec
from beyondkernels.store.store import Finding as Finding
from beyondkernels.store.store import Store as Store
from beyondkernels.store.store import StoreSize as StoreSize
