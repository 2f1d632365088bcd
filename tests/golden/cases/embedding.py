"""Embedding: tied, with positions."""
import zlib

import torch
from torch import nn

from .layer_case import layer, named_layer


class Tied(nn.Module):
    def __init__(self, vocabulary, units):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, units)

    def forward(self, x):
        return torch.tanh(self.tokens(x)) @ self.tokens.weight.T


class Positions(nn.Module):
    def __init__(self, length, units):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(length, units))

    def forward(self, x):
        return x + self.weight


class Placed(nn.Module):
    """An embedding with a second table for positions, or the sines of Vaswani et al. 2017."""

    def __init__(self, vocabulary, length, units, learned):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, units)
        self.learned = learned
        if learned:
            self.places = nn.Module()
            self.places.positions = nn.Parameter(torch.zeros(length, units))
        else:
            angles = torch.arange(length).double()[:, None] / 10000.0 ** (torch.arange(0, units, 2).double() / units)
            self.waves = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)

    def forward(self, x):
        return self.tokens(x) + (self.places.positions if self.learned else self.waves)


TOKENS = torch.tensor([[0, 3, 3, 1], [4, 4, 4, 2], [5, 0, 1, 3]])


def one_after_the_other():
    layer('embedding', 'embedding: {units: 3, vocabulary: 6}', nn.Embedding(6, 3), None, {'': 'embedding1'},
          tokens=TOKENS)
    layer('embedding_tied',
          'embedding: {units: 3, vocabulary: 6, name: tokens}, tanh, dense: {units: 6, bias: false, tie: tokens}',
          Tied(6, 3), None, {'tokens': 'tokens'}, tokens=TOKENS)


def named():
    named_layer('positions', 'positions', lambda: Positions(4, 3), (2, 4, 3), {'': 'positions1'})
    for positions in ['learned', 'sinusoidal']:
        torch.manual_seed(zlib.crc32(positions.encode()))
        layer(f'embedding_{positions}', f'embedding: {{units: 6, vocabulary: 6, positions: {positions}}}',
              Placed(6, 4, 6, positions == 'learned'), None, {'tokens': 'embedding1', 'places': 'embedding1'},
              tokens=TOKENS)
