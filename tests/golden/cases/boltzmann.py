"""A restricted Boltzmann machine, without its random values."""
import torch
from torch import nn

from .layer_case import named_layer


class Boltzmann(nn.Module):
    """The probabilities of hidden units, and of visible ones given these."""

    def __init__(self, visible, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(hidden, visible))
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.visible_bias = nn.Parameter(torch.zeros(visible))

    def forward(self, x):
        return torch.sigmoid(torch.sigmoid(x @ self.weight.T + self.bias) @ self.weight + self.visible_bias)


def named():
    named_layer('reconstruct', 'rbm: {units: 4, learn: backprop}, reconstruct: rbm1', lambda: Boltzmann(6, 4), (5, 6),
                {'': 'rbm1'})
