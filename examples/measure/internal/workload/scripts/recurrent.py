"""A language model of two LSTM layers: many small kernels in sequence."""

import torch
import torch.nn.functional as F
from torch import nn

from training import Job, Task


class Model(nn.Module):
    def __init__(self, vocabulary, width, depth):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, depth, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.head(self.lstm(self.embed(tokens))[0])


def loss(module, batch):
    return F.cross_entropy(module(batch[0]).flatten(0, 1), batch[1].flatten())


def build():
    shape, vocabulary = (64, 64), 10000
    batches = [(torch.randint(vocabulary, shape), torch.randint(vocabulary, shape)) for _ in range(4)]
    return Job(Model(vocabulary, 650, 2), batches, loss)


TASKS = {"lstm": Task("LSTM 2x650", "rnn", 64, build)}
