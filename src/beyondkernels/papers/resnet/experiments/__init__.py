"""Allen-Zhu & Li: what ResNets learn efficiently, going beyond kernels."""
