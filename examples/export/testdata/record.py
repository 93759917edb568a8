"""Writes what colloc_export says of two small networks: python3 record.py FOLDER."""

import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import colloc_export  # noqa: E402


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        q, k, v = (y.view(*x.shape[:2], 4, 8).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        mix = torch.softmax(q @ k.transpose(-1, -2), -1) @ v
        return self.out(mix.transpose(1, 2).reshape(x.shape))


class Language(nn.Module):
    """A table whose head is tied to it, free positions, and two blocks, one frozen."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(100, 32), nn.Linear(32, 100, bias=False)
        self.head.weight = self.words.weight
        self.positions = nn.Parameter(torch.zeros(16, 32))
        self.blocks, self.norm = nn.ModuleList(Attention() for _ in range(2)), nn.LayerNorm(32)
        for p in self.blocks[0].parameters():
            p.requires_grad = False

    def forward(self, ids):
        x = self.words(ids) + self.positions
        for block in self.blocks:
            x = x + nn.functional.gelu(block(x))
        return self.head(self.norm(x))


def main(folder):
    net = Language()
    colloc_export.describe(net, torch.zeros(4, 16, dtype=torch.long), torch.optim.AdamW(net.parameters()), path=folder / "language.json")
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10),
    )
    rule = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    colloc_export.describe(net, torch.zeros(2, 3, 16, 16), rule, "mixed", path=folder / "images.json")


main(pathlib.Path(sys.argv[1]))
