"""How initialisers distribute weights."""
import torch
from torch import nn

from .golden_file import write


def initializer(name, init, fill, convolution=False):
    """The distribution of a large weight, as quantiles."""
    shape = (64, 48, 5, 5) if convolution else (300, 400)
    weight = torch.zeros(*shape)
    fill(weight)
    quantiles = torch.quantile(weight.double().flatten(), torch.linspace(0.02, 0.98, 25).double())
    yaml = f'conv: {{filters: 64, kernel: 5, init: {init}}}' if convolution else f'dense: {{units: 300, init: {init}}}'
    write(f'initializer_{name}', {'quantiles': quantiles, 'deviation': weight.std().reshape(1)}, kind='initializer',
          yaml=yaml, sample='5 5 48' if convolution else '400')


def all_initializers():
    init = nn.init
    for suffix, convolution in [('', False), ('_conv', True)]:
        for name, yaml, fill in [
                ('constant', '{constant: 0.3}', lambda w: init.constant_(w, 0.3)),
                ('uniform', '{uniform: {limit: 0.3, low: -0.1}}', lambda w: init.uniform_(w, -0.1, 0.3)),
                ('normal', '{normal: {std: 0.2, mean: 0.1}}', lambda w: init.normal_(w, 0.1, 0.2)),
                ('truncated_normal', '{truncated_normal: {std: 0.2, mean: 0.1, limit: 1.5}}',
                 lambda w: init.trunc_normal_(w, 0.1, 0.2, 0.1 - 0.3, 0.1 + 0.3)),
                ('glorot', 'glorot', init.xavier_uniform_),
                ('glorot_normal', '{glorot_normal: 2}', lambda w: init.xavier_normal_(w, 2)),
                ('he', 'he', lambda w: init.kaiming_normal_(w, nonlinearity='relu')),
                ('he_uniform', 'he_uniform', lambda w: init.kaiming_uniform_(w, nonlinearity='relu')),
                ('lecun_uniform', 'lecun_uniform', lambda w: init.kaiming_uniform_(w, nonlinearity='linear')),
                ('orthogonal', '{orthogonal: 1.5}', lambda w: init.orthogonal_(w, 1.5)),
                ('identity', 'identity', init.dirac_ if convolution else init.eye_)]:
            initializer(name + suffix, yaml, fill, convolution)
