"""Pooling, and its opposite."""
from torch import nn

from .layer_case import layer, named_layer


def one_after_the_other():
    layer('max_pool', 'max_pool: 2', nn.MaxPool2d(2), (2, 3, 6, 7))
    layer('max_pool_pad', 'max_pool: {size: 3, stride: 2, pad: 1}', nn.MaxPool2d(3, 2, 1), (2, 3, 6, 7))
    layer('max_pool_oblong', 'max_pool: {size: [2, 3], stride: 1}', nn.MaxPool2d((2, 3), 1), (2, 3, 5, 5))
    layer('avg_pool', 'avg_pool: 2', nn.AvgPool2d(2), (2, 3, 6, 7))
    layer('avg_pool_pad', 'avg_pool: {size: 3, stride: 2, pad: 1}', nn.AvgPool2d(3, 2, 1), (2, 3, 6, 7))
    layer('avg_pool_without_padding', 'avg_pool: {size: 3, stride: 2, pad: 1, include_padding: false}',
          nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 6, 7))
    layer('global_avg_pool', 'global_avg_pool', nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), (2, 3, 4, 5))


def named():
    named_layer('l2_pool', 'l2_pool: 2', lambda: nn.LPPool2d(2, 2), (2, 3, 4, 5))
    named_layer('l2_pool_stride', 'l2_pool: {size: [3, 2], stride: 1}', lambda: nn.LPPool2d(2, (3, 2), 1), (2, 3, 4, 5))
    named_layer('adaptive_avg_pool', 'adaptive_avg_pool: [3, 2]', lambda: nn.AdaptiveAvgPool2d((3, 2)), (2, 3, 7, 5))
    named_layer('upsample', 'upsample: [2, 3]', lambda: nn.Upsample(scale_factor=(2, 3)), (2, 3, 3, 2))
    named_layer('upsample_bilinear', 'upsample: {factor: [2, 3], mode: bilinear}',
                lambda: nn.Upsample(scale_factor=(2, 3), mode='bilinear'), (2, 3, 3, 2))
