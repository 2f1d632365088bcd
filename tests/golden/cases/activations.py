"""Functions of single values, softmax, dropout."""
from torch import nn

from .layer_case import layer, named_layer


def one_after_the_other():
    layer('leaky_relu', 'leaky_relu: 0.2', nn.LeakyReLU(0.2), (3, 7))
    layer('softmax', 'softmax', nn.Softmax(1), (4, 6))
    layer('softmax_map', 'softmax', nn.Softmax(1), (2, 5, 2, 3))
    layer('dropout_evaluation', 'dropout: 0.5', nn.Dropout(0.5), (3, 7), mode='evaluation')


def named():
    named_layer('relu6', 'relu6', nn.ReLU6, (3, 7))
    named_layer('silu', 'silu', nn.SiLU, (3, 7))
    named_layer('gelu_tanh', 'gelu_tanh', lambda: nn.GELU(approximate='tanh'), (3, 7))
    named_layer('dense_gelu_tanh', 'dense: {units: 4, activation: gelu_tanh}',
                lambda: nn.Sequential(nn.Linear(6, 4), nn.GELU(approximate='tanh')), (5, 6), {'0': 'dense1'})
    named_layer('hardswish', 'hardswish', nn.Hardswish, (3, 7))
    named_layer('softplus', 'softplus', nn.Softplus, (3, 7))
    named_layer('elu', 'elu: 0.7', lambda: nn.ELU(0.7), (3, 7))
    named_layer('prelu', 'prelu', lambda: nn.PReLU(3), (2, 3, 4, 5), {'': 'prelu1'})
    named_layer('prelu_one', 'prelu: {shared: true}', nn.PReLU, (4, 6), {'': 'prelu1'})


def gelu():
    layer('gelu', 'gelu', nn.GELU(), (3, 2, 3, 5))
    layer('dense_gelu', 'dense: {units: 4, activation: gelu}', nn.Sequential(nn.Linear(6, 4), nn.GELU()), (5, 6),
          {'0': 'dense1'})
    layer('conv_gelu', 'conv: {filters: 4, kernel: 3, activation: gelu}',
          nn.Sequential(nn.Conv2d(3, 4, 3), nn.GELU()), (2, 3, 5, 4), {'0': 'conv1'})
