"""Convolutions of maps and of sequences, and transposed ones."""
from torch import nn

from .layer_case import layer, named_layer


class SwapTime(nn.Module):
    """A module on (N, features, time), for values that lie as (N, time, features)."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x.transpose(1, 2)).transpose(1, 2)


def one_after_the_other():
    conv = {'': 'conv1'}
    for name, settings, arguments, shape in [
            ('conv', 'kernel: 3', dict(kernel_size=3), (2, 3, 6, 7)),
            ('conv_without_bias', 'kernel: 3, bias: false', dict(kernel_size=3, bias=False), (2, 3, 5, 5)),
            ('conv_one_channel', 'kernel: 5', dict(kernel_size=5), (2, 1, 9, 8)),
            ('conv_one_position', 'kernel: 1', dict(kernel_size=1), (2, 3, 4, 3)),
            ('conv_oblong', 'kernel: [2, 3], stride: [1, 2], pad: [1, 0]',
             dict(kernel_size=(2, 3), stride=(1, 2), padding=(1, 0)), (2, 3, 5, 8)),
            ('conv_stride', 'kernel: 3, stride: 2, pad: 1', dict(kernel_size=3, stride=2, padding=1), (2, 3, 8, 7)),
            ('conv_same', 'kernel: 5, pad: same', dict(kernel_size=5, padding=2), (2, 3, 6, 6)),
            ('conv_dilation', 'kernel: 3, dilation: 2, pad: same', dict(kernel_size=3, dilation=2, padding=2),
             (2, 3, 7, 6)),
            ('conv_groups', 'kernel: 3, groups: 2', dict(kernel_size=3, groups=2), (2, 6, 5, 5)),
            ('conv_depthwise', 'kernel: 3, groups: 4, pad: 1', dict(kernel_size=3, groups=4, padding=1), (2, 4, 5, 5)),
    ]:
        layer(name, f'conv: {{filters: 4, {settings}}}', nn.Conv2d(shape[1], 4, **arguments), shape, conv)
    layer('conv_relu', 'conv: {filters: 4, kernel: 3, activation: relu}',
          nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), (2, 3, 6, 5), {'0': 'conv1'})
    layer('conv_16', 'conv: {filters: 16, kernel: 5}', nn.Conv2d(2, 16, 5), (2, 2, 9, 9), conv)


def named():
    named_layer('conv1d', 'conv1d: {filters: 4, kernel: 3, stride: 2, pad: 1, activation: tanh}',
                lambda: SwapTime(nn.Sequential(nn.Conv1d(3, 4, 3, 2, 1), nn.Tanh())), (2, 8, 3), {'module.0': 'conv1d1'})
    named_layer('conv1d_groups', 'conv1d: {filters: 4, kernel: 3, dilation: 2, pad: same, groups: 2, bias: false}',
                lambda: SwapTime(nn.Conv1d(6, 4, 3, 1, 2, 2, 2, bias=False)), (2, 7, 6), {'module': 'conv1d1'})
    transposed = {'': 'conv_transpose1'}
    named_layer('conv_transpose', 'conv_transpose: {filters: 4, kernel: 3}', lambda: nn.ConvTranspose2d(3, 4, 3),
                (2, 3, 4, 3), transposed)
    named_layer('conv_transpose_stride', 'conv_transpose: {filters: 4, kernel: 3, stride: 2, pad: 1, extra: 1}',
                lambda: nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), (2, 3, 4, 3), transposed)
    named_layer('conv_transpose_all',
                'conv_transpose: {filters: 4, kernel: [3, 2], stride: [1, 2], pad: [1, 0], groups: 2, dilation: 2, bias: false}',
                lambda: nn.ConvTranspose2d(6, 4, (3, 2), (1, 2), (1, 0), groups=2, dilation=2, bias=False),
                (2, 6, 4, 3), transposed)
