from store.conftest import outcome as outcome, spec as spec, store as store, stored as stored, toys as toys
