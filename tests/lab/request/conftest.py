from papers.conftest import store as store, user as user
