"""Allen-Zhu & Li: backward feature correction, how deep learning performs deep learning."""
