"""Figure 3: the three-layer ResNet over the size of the base signal."""
