"""Normalisation over the batch, groups of channels, neighbours, features."""
import torch
import torch.nn.functional as F
from torch import nn

from .layer_case import layer, named_layer


class RootMeanSquareNorm(nn.Module):
    """Zhang and Sennrich 2019."""

    def __init__(self, width, epsilon):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x):
        return self.weight * x * torch.rsqrt((x ** 2).mean(-1, keepdim=True) + self.epsilon)


class Apply(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def local_contrast_norm(size, epsilon=1e-4):
    """Jarrett et al. 2009: subtractive, then divisive normalisation."""
    window = torch.exp(-((torch.arange(size) - size // 2).double() / (size / 4)) ** 2 / 2)
    window = torch.outer(window, window) / window.sum() ** 2

    def blur(maps):
        return F.conv2d(maps, window[None, None], padding=size // 2)

    def function(x):
        left = x - blur(x.mean(1, keepdim=True))
        deviation = blur((left ** 2).mean(1, keepdim=True)).sqrt()
        return left / torch.maximum(deviation, deviation.mean((1, 2, 3), keepdim=True)).clamp(min=epsilon)
    return function


def batch_norm():
    norm = {'': 'batch_norm1'}
    for mode in ['training', 'evaluation']:
        layer(f'batch_norm_{mode}', 'batch_norm', nn.BatchNorm1d(5), (6, 5), norm, mode)
        layer(f'batch_norm_map_{mode}', 'batch_norm: {momentum: 0.3, epsilon: 0.01}',
              nn.BatchNorm2d(4, eps=0.01, momentum=0.3), (3, 4, 3, 5), norm, mode)


def named():
    named_layer('group_norm', 'group_norm: 2', lambda: nn.GroupNorm(2, 6), (3, 6, 4, 5), {'': 'group_norm1'})
    named_layer('group_norm_one', 'group_norm: {groups: 1, epsilon: 0.01}', lambda: nn.GroupNorm(1, 4, eps=0.01),
                (3, 4, 3, 3), {'': 'group_norm1'})
    named_layer('local_response_norm', 'local_response_norm: {size: 5, alpha: 0.5, beta: 0.75, k: 2}',
                lambda: nn.LocalResponseNorm(5, 0.5, 0.75, 2), (2, 7, 3, 2))
    named_layer('local_response_norm_even', 'local_response_norm: {size: 4, alpha: 2, beta: 0.5}',
                lambda: nn.LocalResponseNorm(4, 2, 0.5, 1), (2, 5, 3, 2))
    named_layer('rms_norm', 'rms_norm', lambda: RootMeanSquareNorm(7, 1e-6), (2, 3, 7), {'': 'rms_norm1'})
    named_layer('rms_norm_epsilon', 'rms_norm: 0.5', lambda: RootMeanSquareNorm(20, 0.5), (4, 20), {'': 'rms_norm1'})
    named_layer('local_contrast_norm', 'local_contrast_norm: 5', lambda: Apply(local_contrast_norm(5)), (2, 3, 6, 5))


def layer_norm():
    layer('layer_norm', 'layer_norm', nn.LayerNorm(7), (2, 3, 7), {'': 'layer_norm1'})
