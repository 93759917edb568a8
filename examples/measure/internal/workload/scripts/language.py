"""Transformers: encoders that fill in masked tokens (BERT) and decoders that
predict the next one (GPT).

Devlin et al. 2019, doi:10.18653/v1/N19-1423; Radford et al. 2019 (GPT-2).
"""

import torch
import torch.nn.functional as F
from torch import nn

from layers import Attention
from training import Job, Task


class Block(nn.Module):
    """Attention and two dense layers; normalised before each (GPT) or after
    each (BERT)."""

    def __init__(self, width, heads, causal, dropout):
        super().__init__()
        self.heads, self.first = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.attention = Attention(causal)
        self.dense = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def attend(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(x).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = self.attention(q, k, v).transpose(1, 2).reshape(batch, tokens, width)
        return self.drop1(self.out(mixed))

    def forward(self, x):
        if self.first:
            x = x + self.attend(self.norm1(x))
            return x + self.drop2(self.dense(self.norm2(x)))
        x = self.norm1(x + self.attend(x))
        return self.norm2(x + self.drop2(self.dense(x)))


class Transformer(nn.Module):
    def __init__(self, vocabulary, tokens, width, depth, heads, causal, dropout=0.1):
        super().__init__()
        self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, causal, dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.token.weight  # tied, as in BERT and GPT-2
        self.apply(start)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.token(tokens) + self.place(places))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def start(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)


def tokens_loss(module, batch):
    logits = module(batch[0])
    return F.cross_entropy(logits.flatten(0, 1), batch[1].flatten())


def last_token(module, batch):
    """What a server sends back: the scores of one token."""
    return module(batch[0])[:, -1]


def text(batch, tokens, vocabulary, width, depth, causal, loss=tokens_loss):
    def build():
        shape = (batch, tokens)
        batches = [(torch.randint(vocabulary, shape), torch.randint(vocabulary, shape)) for _ in range(4)]
        return Job(Transformer(vocabulary, tokens, width, depth, width // 64, causal), batches, loss)

    return build


BERT, GPT = 30522, 50257  # sizes of their vocabularies

TASKS = {
    "bert-mini": Task("BERT-mini", "transformer", 32, text(32, 128, BERT, 256, 4, False), precision="mixed"),
    "bert-base": Task("BERT-base", "transformer", 16, text(16, 128, BERT, 768, 12, False), precision="mixed"),
    "gpt-mini": Task("GPT-mini", "transformer", 8, text(8, 256, GPT, 384, 6, True), precision="mixed"),
    "gpt2": Task("GPT-2", "transformer", 4, text(4, 1024, GPT, 768, 12, True), precision="bf16"),
    "bert-serve": Task(
        "BERT-base", "transformer", 8, text(8, 128, BERT, 768, 12, False, last_token), precision="fp16", optimizer="none"
    ),
}
