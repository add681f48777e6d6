from experiments.conftest import store as store
from experiments.conftest import user as user
