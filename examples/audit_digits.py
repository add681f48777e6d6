"""What does a convolutional network learn on handwritten digits that a kernel does not?

    bk audit examples/audit_digits.py        two minutes on two cores; the page is report/index.html

The 1797 images of 8×8 pixels come with scikit-learn.
"""

import torch
from sklearn.datasets import load_digits

from beyondkernels.auditing import Audit


def small_convolutional(in_dim: tuple[int, int, int], out_dim: int) -> torch.nn.Module:
    """Two convolutions of 16 and 32 channels, and a linear layer."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(in_dim[0], 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, padding=1, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(32 * (in_dim[1] // 2) * (in_dim[2] // 2), out_dim),
    )


points, labels = load_digits(return_X_y=True)
images = torch.tensor(points / 16).float().reshape(-1, 1, 8, 8)

DIGITS = Audit(small_convolutional, (images, labels), name="digits", epochs=20, learning_rate=2e-3)
