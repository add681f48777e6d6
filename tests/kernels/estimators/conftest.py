"""One thread: these tensors are too small to share, and workers train with one."""

import torch

torch.set_num_threads(1)
