"""Figure 4 (and 1): the least weights that compute a parity, and what SGD finds."""
