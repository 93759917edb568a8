"""Stacks of dense layers: one that cannot fill a GPU, one that can."""

import torch
from torch import nn

from layers import classify
from training import Job, Task


def mlp(batch, inputs, width, depth, classes=10):
    def build():
        sizes = [inputs] + [width] * depth
        hidden = [m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.ReLU())]
        batches = [(torch.randn(batch, inputs), torch.randint(classes, (batch,))) for _ in range(4)]
        return Job(nn.Sequential(*hidden, nn.Linear(width, classes)), batches, classify)

    return build


TASKS = {
    "mlp-small": Task("MLP 3x512", "mlp", 128, mlp(128, 784, 512, 3)),
    "mlp-wide": Task("MLP 6x4096", "mlp", 4096, mlp(4096, 1024, 4096, 6), precision="tf32"),
}
