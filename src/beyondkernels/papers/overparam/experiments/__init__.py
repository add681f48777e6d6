"""Experiments on the paper about overparameterised networks."""
