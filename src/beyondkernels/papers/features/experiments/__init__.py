"""Shi, Wei & Liang: feature learning from input structure."""
