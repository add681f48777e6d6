import gc
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

# The same examples each time and no deadline, so that a test fails for what changed alone.
# HYPOTHESIS_PROFILE=default draws new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Before torch is imported, here and in the processes that tests start: tests run side by side, their tensors are small.
os.environ["OMP_NUM_THREADS"] = "1"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector the modules and tests, which live as long as the process and are very many."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Files are handed to the kernel and not awaited: no test cuts the power. Processes that tests start do wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True)
def no_store_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes to the store of whoever runs it."""
    monkeypatch.delenv("BK_STORE", raising=False)
