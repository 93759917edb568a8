"""A recommender after DLRM (Naumov et al. 2019, arXiv:1906.00091): memory is
tables, time is look-ups and small dense layers."""

import torch
import torch.nn.functional as F
from torch import nn

from training import Job, Task


class Model(nn.Module):
    def __init__(self, tables, rows, width, dense):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width, sparse=True) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(dense, 512), nn.ReLU(), nn.Linear(512, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(
            nn.Linear(width + pairs, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)
        )
        lower = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("lower", lower, persistent=False)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        parts = torch.stack([x] + [t(sparse[:, i]) for i, t in enumerate(self.tables)], 1)
        products = torch.bmm(parts, parts.transpose(1, 2))
        return self.top(torch.cat((x, products[:, self.lower[0], self.lower[1]]), 1)).squeeze(1)


def loss(module, batch):
    dense, sparse, clicks = batch
    return F.binary_cross_entropy_with_logits(module(dense, sparse), clicks)


def build():
    batch, tables, rows, dense = 2048, 26, 100_000, 13
    batches = [
        (torch.randn(batch, dense), torch.randint(rows, (batch, tables)), torch.rand(batch).round())
        for _ in range(4)
    ]
    return Job(Model(tables, rows, 64, dense), batches, loss)


TASKS = {"dlrm": Task("DLRM 26x100k", "recommender", 2048, build, optimizer="sgd")}
