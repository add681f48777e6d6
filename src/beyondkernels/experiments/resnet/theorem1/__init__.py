"""Theorem 1 as an experiment: the risk of Algorithm 1 against α."""
