"""Layers that only change the shape or the order of values."""
from torch import nn

from .layer_case import layer, named_layer
from .normalization import Apply


def flatten():
    layer('flatten', 'flatten', nn.Flatten(), (2, 3, 4, 5))


def named():
    named_layer('reshape_to_map', 'reshape: [2, 3, 4]', lambda: nn.Unflatten(1, (2, 3, 4)), (3, 24))
    named_layer('reshape_map', 'reshape: [3, -1]', lambda: nn.Flatten(2), (2, 3, 4, 2))
    named_layer('permute', 'permute: [2, 1]', lambda: Apply(lambda x: x.transpose(1, 2)), (2, 3, 4))
    named_layer('permute_map', 'permute: [3, 1, 2]', lambda: Apply(lambda x: x.permute(0, 3, 1, 2)), (2, 3, 4, 5))
