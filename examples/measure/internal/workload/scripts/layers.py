"""Parts that several workloads share."""

import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """Scaled dot product of queries, keys and values (batch, heads, tokens,
    width): a leaf, so that describe.py sees it."""

    def __init__(self, causal):
        super().__init__()
        self.causal = causal

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)


def classify(module, batch):
    """Cross-entropy of a classifier; batch is (inputs, labels)."""
    return F.cross_entropy(module(batch[0]), batch[1])


def answer(module, batch):
    """The output itself, for inference."""
    return module(batch[0])
