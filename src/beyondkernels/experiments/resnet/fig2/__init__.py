"""Figure 2: the three-layer ResNet against kernels and fully connected networks, over width."""
