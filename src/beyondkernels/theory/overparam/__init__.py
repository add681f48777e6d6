"""Allen-Zhu, Li & Liang, Learning and generalization in overparameterized neural networks: what the proofs build."""
