"""Layers made of layers: residual, concat and recompute."""
import torch
import torch.nn.functional as F
from torch import nn

from torch.utils.checkpoint import checkpoint

from .layer_case import layer, named_layer


class Residual(nn.Module):
    def __init__(self, body, shortcut=None):
        super().__init__()
        self.body, self.shortcut = body, shortcut or nn.Identity()

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


class PadShortcut(nn.Module):
    """Option A of He et al. 2015: subsampling, and zeros as further channels."""

    def __init__(self, stride, channels):
        super().__init__()
        self.stride, self.channels = stride, channels

    def forward(self, x):
        return F.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, 0, self.channels))


class Concat(nn.Module):
    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], dim=1)


class Recompute(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return checkpoint(self.layers, x)


class Product(nn.Module):
    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        result = self.branches[0](x)
        for branch in self.branches[1:]:
            result = result * branch(x)
        return result


def one_after_the_other():
    layer('residual_identity', 'residual: [dense: 6, relu, dense: 6]',
          Residual(nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6))), (4, 6),
          {'body.0': 'dense1', 'body.2': 'dense2'})
    layer('residual_reads_output', 'residual: [dense: 6, tanh]',
          Residual(nn.Sequential(nn.Linear(6, 6), nn.Tanh())), (4, 6), {'body.0': 'dense1'})

    def body():
        return nn.Sequential(nn.Conv2d(3, 5, 3, 2, 1, bias=False), nn.BatchNorm2d(5), nn.ReLU(),
                             nn.Conv2d(5, 5, 3, 1, 1))
    layers_of_body = ('[conv: {filters: 5, kernel: 3, stride: 2, pad: same, bias: false}, batch_norm, relu, '
                      'conv: {filters: 5, kernel: 3, pad: same}]')
    names = {'body.0': 'conv1', 'body.1': 'batch_norm1', 'body.3': 'conv2'}
    layer('residual_pad', f'residual: {{body: {layers_of_body}, shortcut: pad}}',
          Residual(body(), PadShortcut(2, 2)), (2, 3, 5, 6), names)
    layer('residual_conv', f'residual: {{body: {layers_of_body}, shortcut: conv}}',
          Residual(body(), nn.Conv2d(3, 5, 1, 2, bias=False)), (2, 3, 5, 6),
          {**names, 'shortcut': 'residual1.shortcut'})
    layer('concat_features', 'concat: [[dense: 3, relu], [dense: {units: 2, activation: tanh}], []]',
          Concat(nn.Sequential(nn.Linear(6, 3), nn.ReLU()), nn.Sequential(nn.Linear(6, 2), nn.Tanh()), nn.Identity()),
          (4, 6), {'branches.0.0': 'dense1', 'branches.1.0': 'dense2'})
    layer('concat_channels', 'concat: [[conv: {filters: 2, kernel: 1}], [relu, conv: {filters: 3, kernel: 3, pad: same}]]',
          Concat(nn.Conv2d(3, 2, 1), nn.Sequential(nn.ReLU(), nn.Conv2d(3, 3, 3, padding=1))), (2, 3, 4, 5),
          {'branches.0': 'conv1', 'branches.1.1': 'conv2'})


def named():
    named_layer('multiply_swiglu',
                'multiply: [[dense: {units: 9, activation: silu, bias: false}], [dense: {units: 9, bias: false}]], dense: 4',
                lambda: nn.Sequential(Product(nn.Sequential(nn.Linear(4, 9, bias=False), nn.SiLU()),
                                              nn.Linear(4, 9, bias=False)), nn.Linear(9, 4)), (2, 3, 4),
                {'0.branches.0.0': 'dense1', '0.branches.1': 'dense2', '1': 'dense3'})
    named_layer('recompute', 'recompute: [conv: {filters: 5, kernel: 3}, tanh, conv: {filters: 2, kernel: 1}, relu]',
                lambda: Recompute(nn.Conv2d(3, 5, 3), nn.Tanh(), nn.Conv2d(5, 2, 1), nn.ReLU()), (2, 3, 4, 5),
                {'layers.0': 'conv1', 'layers.2': 'conv2'})
