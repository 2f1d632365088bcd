"""Writes the golden files of this folder: what PyTorch (Debian 12's python3-torch, 1.13) computes for every layer,
loss and optimizer, and the losses of two short trainings.

Usage: python3 make_golden.py   (in any folder; the files are written beside this script)

Layers, losses and optimizers are computed in double precision from float32 inputs, so that the files hold the right
numbers to the last digit; the trainings run in float32, as a user's would.
"""
import json
import math
import pathlib
import struct
import zlib

import torch
import torch.nn.functional as F
from torch import nn

FOLDER = pathlib.Path(__file__).resolve().parent


def write(name, tensors, **metadata):
    header, data = {'__metadata__': metadata}, b''
    for key, tensor in tensors.items():
        numbers = tensor.detach().to(torch.float32).reshape(-1).tolist()
        packed = struct.pack(f'<{len(numbers)}f', *numbers)
        header[key] = {'dtype': 'F32', 'shape': list(tensor.shape), 'data_offsets': [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    (FOLDER / f'{name}.safetensors').write_bytes(struct.pack('<Q', len(text)) + text + data)


def rounded(*shape):
    """Random doubles that float32 holds exactly."""
    return torch.randn(*shape).double()


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


def layer(name, yaml, module, shape, names=None, mode='training', tokens=None, lengths=None):
    """names: ours for PyTorch's prefixes, {'': 'conv1'} unless said. tokens: the input, where it is integers. lengths: of
    sequences with padding, whose outputs and gradients there are zeros."""
    module = module.double()
    ours = {}
    for key, tensor in module.state_dict().items():
        if key.endswith('num_batches_tracked'):
            continue
        prefix, _, last = key.rpartition('.')
        ours[key] = f'{(names or {"": ""})[prefix]}.{last}'
        with torch.no_grad():
            tensor.copy_(rounded(*tensor.shape) * 0.5)
            if key.endswith('running_var'):
                tensor.copy_((tensor.abs() + 0.5).float())
    module.train(mode == 'training')
    x = rounded(*shape).requires_grad_() if tokens is None else tokens
    tensors = {'x': x}
    states = {key: tensor for key, tensor in module.named_buffers() if key in ours}
    for key, tensor in module.named_parameters():
        tensors[f'value/{ours[key]}'] = tensor.clone()
    for key, tensor in states.items():
        tensors[f'state/{ours[key]}'] = tensor.clone()
    y = module(x)
    tensors['y'] = y
    if mode == 'training':
        dy = rounded(*y.shape)
        for row, length in enumerate(lengths or [] if y.dim() == 3 else []):
            dy[row, length:] = 0
        y.backward(dy)
        tensors['dy'] = dy
        if tokens is None:
            tensors['dx'] = x.grad
        for key, tensor in module.named_parameters():
            tensors[f'gradient/{ours[key]}'] = tensor.grad
        for key, tensor in states.items():
            tensors[f'state_after/{ours[key]}'] = tensor
    write(name, tensors, kind='layer', yaml=yaml, mode=mode,
          **({'lengths': ' '.join(map(str, lengths))} if lengths else {}))


def layers():
    dense = {'': 'dense1'}
    layer('dense', 'dense: 4', nn.Linear(6, 4), (5, 6), dense)
    layer('dense_without_bias', 'dense: {units: 4, bias: false}', nn.Linear(6, 4, bias=False), (5, 6), dense)
    for function, module in [('relu', nn.ReLU), ('sigmoid', nn.Sigmoid), ('tanh', nn.Tanh)]:
        layer(f'dense_{function}', f'dense: {{units: 4, activation: {function}}}',
              nn.Sequential(nn.Linear(6, 4), module()), (5, 6), {'0': 'dense1'})
        layer(function, function, module(), (3, 2, 3, 5))
    layer('dense_on_positions', 'dense: 4', nn.Linear(3, 4), (2, 5, 3), dense)
    layer('dense_on_map', 'dense: 4', nn.Sequential(nn.Flatten(), nn.Linear(24, 4)), (3, 2, 3, 4), {'1': 'dense1'})

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

    layer('max_pool', 'max_pool: 2', nn.MaxPool2d(2), (2, 3, 6, 7))
    layer('max_pool_pad', 'max_pool: {size: 3, stride: 2, pad: 1}', nn.MaxPool2d(3, 2, 1), (2, 3, 6, 7))
    layer('max_pool_oblong', 'max_pool: {size: [2, 3], stride: 1}', nn.MaxPool2d((2, 3), 1), (2, 3, 5, 5))
    layer('avg_pool', 'avg_pool: 2', nn.AvgPool2d(2), (2, 3, 6, 7))
    layer('avg_pool_pad', 'avg_pool: {size: 3, stride: 2, pad: 1}', nn.AvgPool2d(3, 2, 1), (2, 3, 6, 7))
    layer('avg_pool_without_padding', 'avg_pool: {size: 3, stride: 2, pad: 1, include_padding: false}',
          nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 6, 7))
    layer('global_avg_pool', 'global_avg_pool', nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), (2, 3, 4, 5))
    layer('flatten', 'flatten', nn.Flatten(), (2, 3, 4, 5))
    layer('leaky_relu', 'leaky_relu: 0.2', nn.LeakyReLU(0.2), (3, 7))
    layer('softmax', 'softmax', nn.Softmax(1), (4, 6))
    layer('softmax_map', 'softmax', nn.Softmax(1), (2, 5, 2, 3))
    layer('dropout_evaluation', 'dropout: 0.5', nn.Dropout(0.5), (3, 7), mode='evaluation')

    norm = {'': 'batch_norm1'}
    for mode in ['training', 'evaluation']:
        layer(f'batch_norm_{mode}', 'batch_norm', nn.BatchNorm1d(5), (6, 5), norm, mode)
        layer(f'batch_norm_map_{mode}', 'batch_norm: {momentum: 0.3, epsilon: 0.01}',
              nn.BatchNorm2d(4, eps=0.01, momentum=0.3), (3, 4, 3, 5), norm, mode)

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


class SwapTime(nn.Module):
    """A module on (N, features, time), for numbers that lie as (N, time, features)."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x.transpose(1, 2)).transpose(1, 2)


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


def named_layer(name, yaml, make, shape, names=None):
    """As layer(), but with numbers that follow from the name, so that other cases do not change them."""
    torch.manual_seed(zlib.crc32(name.encode()))
    layer(name, yaml, make(), shape, names)


def more_layers():
    named_layer('silu', 'silu', nn.SiLU, (3, 7))
    named_layer('softplus', 'softplus', nn.Softplus, (3, 7))
    named_layer('elu', 'elu: 0.7', lambda: nn.ELU(0.7), (3, 7))
    for function, module in [('silu', nn.SiLU), ('softplus', nn.Softplus), ('elu', nn.ELU)]:
        named_layer(f'dense_{function}', f'dense: {{units: 4, activation: {function}}}',
                    lambda: nn.Sequential(nn.Linear(6, 4), module()), (5, 6), {'0': 'dense1'})
    named_layer('prelu', 'prelu', lambda: nn.PReLU(3), (2, 3, 4, 5), {'': 'prelu1'})
    named_layer('prelu_one', 'prelu: {slopes: one}', nn.PReLU, (4, 6), {'': 'prelu1'})
    named_layer('group_norm', 'group_norm: 2', lambda: nn.GroupNorm(2, 6), (3, 6, 4, 5), {'': 'group_norm1'})
    named_layer('group_norm_one', 'group_norm: {groups: 1, epsilon: 0.01}', lambda: nn.GroupNorm(1, 4, eps=0.01),
                (3, 4, 3, 3), {'': 'group_norm1'})
    named_layer('local_response_norm', 'local_response_norm: {size: 5, alpha: 0.5, beta: 0.75, k: 2}',
                lambda: nn.LocalResponseNorm(5, 0.5, 0.75, 2), (2, 7, 3, 2))
    named_layer('local_response_norm_even', 'local_response_norm: {size: 4, alpha: 2, beta: 0.5}',
                lambda: nn.LocalResponseNorm(4, 2, 0.5, 1), (2, 5, 3, 2))
    named_layer('local_contrast_norm', 'local_contrast_norm: 5', lambda: Apply(local_contrast_norm(5)), (2, 3, 6, 5))
    named_layer('l2_pool', 'l2_pool: 2', lambda: nn.LPPool2d(2, 2), (2, 3, 4, 5))
    named_layer('l2_pool_stride', 'l2_pool: {size: [3, 2], stride: 1}', lambda: nn.LPPool2d(2, (3, 2), 1), (2, 3, 4, 5))
    named_layer('adaptive_avg_pool', 'adaptive_avg_pool: [3, 2]', lambda: nn.AdaptiveAvgPool2d((3, 2)), (2, 3, 7, 5))
    named_layer('upsample', 'upsample: [2, 3]', lambda: nn.Upsample(scale_factor=(2, 3)), (2, 3, 3, 2))
    named_layer('upsample_bilinear', 'upsample: {factor: [2, 3], mode: bilinear}',
                lambda: nn.Upsample(scale_factor=(2, 3), mode='bilinear'), (2, 3, 3, 2))
    named_layer('reshape_to_map', 'reshape: [2, 3, 4]', lambda: nn.Unflatten(1, (2, 3, 4)), (3, 24))
    named_layer('reshape_map', 'reshape: [3, -1]', lambda: nn.Flatten(2), (2, 3, 4, 2))
    named_layer('permute', 'permute: [2, 1]', lambda: Apply(lambda x: x.transpose(1, 2)), (2, 3, 4))
    named_layer('permute_map', 'permute: [3, 1, 2]', lambda: Apply(lambda x: x.permute(0, 3, 1, 2)), (2, 3, 4, 5))
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


def loss(name, yaml, function, y, targets, **known):
    y = y.requires_grad_()
    value = function(y)
    value.backward()
    write(name, {'y': y, **targets, 'loss': value.reshape(1), 'dy': y.grad}, kind='loss', yaml=yaml, **known)


def losses():
    labels = torch.tensor([2, 0, 4, 4, 1, 3])
    rows, classes = len(labels), 5
    one_hot = F.one_hot(labels, classes).double()
    numbers = {'labels': labels}
    loss('softmax_cross_entropy', 'softmax_cross_entropy', lambda y: F.cross_entropy(y, labels),
         rounded(rows, classes) * 4, numbers)
    loss('softmax_cross_entropy_large', 'softmax_cross_entropy', lambda y: F.cross_entropy(y, labels),
         rounded(rows, classes) * 64, numbers)
    logistic = lambda y: F.binary_cross_entropy_with_logits(y, one_hot, reduction='sum') / rows
    loss('sigmoid_cross_entropy', 'sigmoid_cross_entropy', logistic, rounded(rows, classes) * 4, numbers)
    loss('sigmoid_cross_entropy_large', 'sigmoid_cross_entropy', logistic, rounded(rows, classes) * 64, numbers)
    loss('mse', 'mse', lambda y: F.mse_loss(y, one_hot), rounded(rows, classes), numbers)
    values = rounded(rows, 3)
    loss('mse_of_numbers', 'mse', lambda y: F.mse_loss(y, values), rounded(rows, 3), {'values': values})


def named_loss(name, yaml, function, outputs=5, labels=None, values=None):
    """As loss(), but with numbers that follow from the name. The function adds up over 6 rows."""
    torch.manual_seed(zlib.crc32(name.encode()))
    y = rounded(6, outputs) * 2
    targets = {'labels': labels} if values is None else {'values': values()}
    target = labels if values is None else targets['values']
    loss(name, yaml, lambda outputs: function(outputs, target) / 6, y, targets)


def more_losses():
    labels = torch.tensor([2, 0, 4, 4, 1, 3])
    weights = torch.tensor([1, 0.5, 2, 3, 0.25]).double()
    named_loss('softmax_cross_entropy_smoothing', 'softmax_cross_entropy: {smoothing: 0.1}',
               lambda y, t: F.cross_entropy(y, t, label_smoothing=0.1, reduction='sum'), labels=labels)
    named_loss('softmax_cross_entropy_weights', 'softmax_cross_entropy: {class_weights: [1, 0.5, 2, 3, 0.25]}',
               lambda y, t: F.cross_entropy(y, t, weights, reduction='sum'), labels=labels)
    named_loss('softmax_cross_entropy_both',
               'softmax_cross_entropy: {smoothing: 0.3, class_weights: [1, 0.5, 2, 3, 0.25]}',
               lambda y, t: F.cross_entropy(y, t, weights, label_smoothing=0.3, reduction='sum'), labels=labels)
    named_loss('huber', 'huber: 0.7', lambda y, t: F.huber_loss(y, t, delta=0.7, reduction='sum') / 5,
               values=lambda: rounded(6, 5))
    named_loss('cosine', 'cosine', lambda y, t: (1 - F.cosine_similarity(y, t)).sum(), values=lambda: rounded(6, 5))
    named_loss('sigmoid_cross_entropy_multi_label', 'sigmoid_cross_entropy',
               lambda y, t: F.binary_cross_entropy_with_logits(y, t, reduction='sum'),
               values=lambda: (rounded(6, 5) > 0).double())
    ctc('ctc', 7, 4, [[1, 2, 3], [2, 2, 0], [1, 0, 0], [0, 0, 0], [3, 3, 3]])
    ctc('ctc_tight', 3, 3, [[1, 2, 1], [1, 1, 0], [2, 0, 0]])
    ctc('ctc_padded', 9, 4, [[1, 2, 3], [2, 2, 0], [1, 0, 0], [0, 0, 0], [3, 3, 3]], lengths=[9, 3, 1, 4, 5])
    torch.manual_seed(zlib.crc32(b'contrastive'))
    same = torch.tensor([1, 0, 0, 1, 0, 1])
    pairs = rounded(6, 8)

    def pulled(y):
        """The formula of Hadsell, Chopra and LeCun 2006; PyTorch has none for pairs of this kind."""
        distance = F.pairwise_distance(y[:, :4], y[:, 4:], eps=0)
        return (same * distance ** 2 / 2 + (1 - same) * F.relu(3 - distance) ** 2 / 2).mean()
    loss('contrastive', 'contrastive: 3', pulled, pairs, {'labels': same}, classes='2')


def ctc(name, positions, symbols, targets, lengths=None):
    """targets: symbols from 1 on, filled up with 0. lengths: of inputs with padding."""
    torch.manual_seed(zlib.crc32(name.encode()))
    targets = torch.tensor(targets)
    rows = len(targets)
    known = {'lengths': ' '.join(map(str, lengths))} if lengths else {}
    lengths = torch.tensor(lengths or [positions] * rows)
    loss(name, 'ctc', lambda y: F.ctc_loss(y.log_softmax(-1).transpose(0, 1), targets, lengths, (targets > 0).sum(1),
                                           reduction='sum') / rows,
         rounded(rows, positions, symbols) * 2, {'values': targets}, **known)


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of Chen et al. 2023; PyTorch has none."""

    def __init__(self, parameters, lr, betas=(0.9, 0.99), weight_decay=0):
        super().__init__(parameters, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group['betas']
            for weight in group['params']:
                mean = self.state[weight].setdefault('mean', torch.zeros_like(weight))
                way = torch.sign(first * mean + (1 - first) * weight.grad)
                weight.sub_(group['lr'] * (way + group['weight_decay'] * weight))
                mean.copy_(second * mean + (1 - second) * weight.grad)


class Lars(torch.optim.Optimizer):
    """Algorithm 1 of You et al. 2017; PyTorch has none."""

    def __init__(self, parameters, lr, trust=0.001, momentum=0.9, weight_decay=0):
        super().__init__(parameters, dict(lr=lr, trust=trust, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weight in group['params']:
                velocity = self.state[weight].setdefault('velocity', torch.zeros_like(weight))
                local = group['trust'] * weight.norm() / (weight.grad.norm() + group['weight_decay'] * weight.norm())
                velocity.mul_(group['momentum'])
                velocity.add_(group['lr'] * local * (weight.grad + group['weight_decay'] * weight))
                weight.sub_(velocity)


class Lamb(torch.optim.Optimizer):
    """Algorithm 2 of You et al. 2020; PyTorch has none."""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
        super().__init__(parameters, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group['betas']
            for weight in group['params']:
                state = self.state[weight]
                state['steps'] = state.get('steps', 0) + 1
                mean = state.setdefault('mean', torch.zeros_like(weight))
                square = state.setdefault('square', torch.zeros_like(weight))
                mean.copy_(first * mean + (1 - first) * weight.grad)
                square.copy_(second * square + (1 - second) * weight.grad ** 2)
                root = (square / (1 - second ** state['steps'])).sqrt()
                way = mean / (1 - first ** state['steps']) / (root + group['eps']) + group['weight_decay'] * weight
                weight.sub_(group['lr'] * weight.norm() / way.norm() * way)


def optimizer(name, yaml, kind, steps=50, count=9, **arguments):
    torch.manual_seed(zlib.crc32(name.encode()))
    weight = rounded(count).requires_grad_()
    first = weight.detach().clone()
    optimizer = kind([weight], **arguments)
    gradients = rounded(steps, count)
    values = []
    for gradient in gradients:
        weight.grad = gradient.clone()
        optimizer.step()
        values.append(weight.detach().clone())
    write(name, {'first': first, 'gradients': gradients, 'values': torch.stack(values)}, kind='optimizer', yaml=yaml)


def optimizers():
    sgd = torch.optim.SGD
    optimizer('sgd', 'sgd: {lr: 0.1}', sgd, lr=0.1)
    optimizer('sgd_momentum', 'sgd: {lr: 0.1, momentum: 0.9}', sgd, lr=0.1, momentum=0.9)
    optimizer('sgd_weight_decay', 'sgd: {lr: 0.1, weight_decay: 0.05}', sgd, lr=0.1, weight_decay=0.05)
    optimizer('sgd_all', 'sgd: {lr: 0.1, momentum: 0.9, weight_decay: 0.05}', sgd, lr=0.1, momentum=0.9,
              weight_decay=0.05)
    optimizer('sgd_nesterov', 'sgd: {lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 0.05}', sgd, lr=0.1,
              momentum=0.9, nesterov=True, weight_decay=0.05)
    optimizer('adam', 'adam', torch.optim.Adam)
    optimizer('adam_all', 'adam: {lr: 0.1, betas: [0.8, 0.95], epsilon: 0.01, weight_decay: 0.1}', torch.optim.Adam,
              lr=0.1, betas=(0.8, 0.95), eps=0.01, weight_decay=0.1)
    optimizer('adamw', 'adamw', torch.optim.AdamW)
    optimizer('adamw_all', 'adamw: {lr: 0.1, betas: [0.8, 0.95], epsilon: 0.01, weight_decay: 0.3}', torch.optim.AdamW,
              lr=0.1, betas=(0.8, 0.95), eps=0.01, weight_decay=0.3)
    optimizer('rmsprop', 'rmsprop', torch.optim.RMSprop)
    optimizer('rmsprop_all', 'rmsprop: {lr: 0.02, smoothing: 0.9, epsilon: 0.01, momentum: 0.8, weight_decay: 0.1}',
              torch.optim.RMSprop, lr=0.02, alpha=0.9, eps=0.01, momentum=0.8, weight_decay=0.1)
    optimizer('rmsprop_centered', 'rmsprop: {lr: 0.02, smoothing: 0.9, epsilon: 0.1, centered: true}',
              torch.optim.RMSprop, lr=0.02, alpha=0.9, eps=0.1, centered=True)
    optimizer('adagrad', 'adagrad', torch.optim.Adagrad)
    optimizer('adagrad_all', 'adagrad: {lr: 0.2, lr_decay: 0.1, initial: 0.5, epsilon: 0.01, weight_decay: 0.1}',
              torch.optim.Adagrad, lr=0.2, lr_decay=0.1, initial_accumulator_value=0.5, eps=0.01, weight_decay=0.1)
    optimizer('adadelta', 'adadelta', torch.optim.Adadelta)
    optimizer('adadelta_all', 'adadelta: {lr: 0.5, rho: 0.8, epsilon: 0.001, weight_decay: 0.1}', torch.optim.Adadelta,
              lr=0.5, rho=0.8, eps=0.001, weight_decay=0.1)
    optimizer('lars', 'lars: {lr: 2}', Lars, lr=2)
    optimizer('lars_all', 'lars: {lr: 0.5, trust: 0.1, momentum: 0.8, weight_decay: 0.3}', Lars, lr=0.5, trust=0.1,
              momentum=0.8, weight_decay=0.3)
    optimizer('lamb', 'lamb', Lamb)
    optimizer('lamb_all', 'lamb: {lr: 0.1, betas: [0.8, 0.95], epsilon: 0.01, weight_decay: 0.3}', Lamb, lr=0.1,
              betas=(0.8, 0.95), eps=0.01, weight_decay=0.3)
    optimizer('lion', 'lion', Lion, lr=1e-4)
    optimizer('lion_all', 'lion: {lr: 0.01, betas: [0.8, 0.95], weight_decay: 0.3}', Lion, lr=0.01, betas=(0.8, 0.95),
              weight_decay=0.3)


def schedule(name, yaml, kind, steps=30, losses=None, **arguments):
    """Ours with epochs of 5 steps; PyTorch's counts steps. losses: of an evaluation after each step."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5, momentum=0.9)
    scheduler = kind(optimizer, **arguments)
    rates, momentums = [], []
    for step in range(steps):
        rates.append(optimizer.param_groups[0]['lr'])
        momentums.append(optimizer.param_groups[0]['momentum'])
        optimizer.step()
        scheduler.step() if losses is None else scheduler.step(losses[step])
    tensors = {'rates': rates, 'momentums': momentums} | ({} if losses is None else {'losses': losses})
    write(name, {key: torch.tensor(values, dtype=torch.float64) for key, values in tensors.items()}, kind='schedule',
          yaml=yaml)


def schedules():
    kinds = torch.optim.lr_scheduler
    schedule('schedule_constant', 'constant', kinds.LambdaLR, lr_lambda=lambda step: 1)
    schedule('schedule_step', 'step: {at: {epochs: [1, 4]}, factor: 0.3}', kinds.MultiStepLR, milestones=[5, 20],
             gamma=0.3)
    schedule('schedule_exponential', 'exponential: {factor: 0.9, every: {steps: 1}}', kinds.ExponentialLR, gamma=0.9)
    schedule('schedule_staircase', 'exponential: {factor: 0.3, staircase: true}', kinds.StepLR, step_size=5, gamma=0.3)
    schedule('schedule_cosine', 'cosine: {final: 0.01}', kinds.CosineAnnealingLR, T_max=30, eta_min=0.01)
    schedule('schedule_restarts', 'cosine: {final: 0.01, period: {steps: 4}, growth: 2}',
             kinds.CosineAnnealingWarmRestarts, T_0=4, T_mult=2, eta_min=0.01)
    schedule('schedule_polynomial', 'polynomial: {power: 2, over: {epochs: 4}}', kinds.LambdaLR,
             lr_lambda=lambda step: (1 - min(step, 20) / 20) ** 2)  # PolynomialLR came with 2.0
    schedule('schedule_one_cycle', 'one_cycle: {start_divisor: 10, final_divisor: 100}', kinds.OneCycleLR, steps=29,
             max_lr=0.5, total_steps=30, div_factor=10, final_div_factor=100, cycle_momentum=False)
    schedule('schedule_one_cycle_momentum', 'one_cycle: {rise: 0.4, momentum: {high: 0.9, low: 0.6}}', kinds.OneCycleLR,
             steps=29, max_lr=0.5, total_steps=30, pct_start=0.4, base_momentum=0.6, max_momentum=0.9)
    losses = [3, 2, 2.5, 1.999, 1.9999, 2, 1.99, 1.5, 1.6, 1.7, 1.8, 1.9, 1.6, 1.6, 1.6, 1.4, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5,
              1.5, 1.5, 1.5, 1.5, 1.2, 1.3, 1.3, 1.3]
    schedule('schedule_plateau', 'plateau: {factor: 0.5, patience: 2, threshold: 0.01}', kinds.ReduceLROnPlateau,
             losses=losses, factor=0.5, patience=2, threshold=0.01)
    schedule('schedule_plateau_pause', 'plateau: {factor: 0.2, patience: 1, pause: 3, least: 0.03}',
             kinds.ReduceLROnPlateau, losses=losses, factor=0.2, patience=1, cooldown=3, min_lr=0.03)


def hashed(purpose, first, count):
    """Numbers in [-1, 1) that the test computes by the same formula."""
    mask = 0xffffffff
    h = (torch.arange(first, first + count) * 2654435761 + purpose * 40503 + 12345) & mask
    h = ((h ^ (h >> 15)) * 2246822519) & mask
    h = ((h ^ (h >> 13)) * 3266489917) & mask
    return (h ^ (h >> 16)).double() / 2.0**31 - 1


def training(name, yaml, module, shape, loss='softmax_cross_entropy', function=F.cross_entropy, amplitude=0.1):
    """The function compares with labels, but for another loss with the input itself."""
    steps, batch = 20, 16
    pixels = torch.Size(shape).numel()
    for number, parameter in enumerate(module.parameters()):
        with torch.no_grad():
            parameter.copy_((hashed(number, 0, parameter.numel()) * amplitude).float().reshape(parameter.shape))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.001, momentum=0.9, weight_decay=0.01)
    seen = []
    for step in range(steps):
        x = hashed(100, step * batch * pixels, batch * pixels).abs().float().reshape(batch, *shape)
        labels = ((hashed(101, step * batch, batch) + 1) * 5).long()
        value = function(module(x), labels if loss == 'softmax_cross_entropy' else x.flatten(1))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        seen.append(value.detach())
    write(name, {'losses': torch.stack(seen)}, kind='training', yaml=yaml, batch=str(batch),
          optimizer='sgd: {lr: 0.001, momentum: 0.9, weight_decay: 0.01}', shape=' '.join(map(str, shape)), loss=loss,
          amplitude=str(amplitude))


def trainings():
    training('training_mlp', 'dense: {units: 100, activation: relu}, dense: 10',
             nn.Sequential(nn.Flatten(), nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10)), (1, 28, 28))
    training('training_convnet',
             'conv: {filters: 16, kernel: 5, activation: relu}, max_pool: 2, '
             'conv: {filters: 32, kernel: 5, activation: relu}, max_pool: 2, '
             'dense: {units: 500, activation: relu}, dense: 10',
             nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(),
                           nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 500), nn.ReLU(), nn.Linear(500, 10)),
             (1, 28, 28))


def autoencoder():
    """That of configs/neon-autoencoder.yaml."""
    sizes = [784, 1000, 500, 250, 30, 250, 500, 1000, 784]
    layers = [nn.Flatten()]
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.Sigmoid()]
    hidden = ', '.join(f'dense: {{units: {size}, activation: sigmoid}}' for size in sizes[1:-1])
    training('training_autoencoder', f'{hidden}, dense: 784', nn.Sequential(*layers[:-1]), (1, 28, 28),
             'sigmoid_cross_entropy', lambda y, t: F.binary_cross_entropy_with_logits(y, t, reduction='sum') / len(y))


def clipping():
    """Gradients of two parameters before and after clip_grad_norm_."""
    parameters = [nn.Parameter(torch.zeros(7, 5).double()), nn.Parameter(torch.zeros(300).double())]
    gradients = [rounded(7, 5), rounded(300)]
    for name, limit in [('clip_to_2', 2.0), ('clip_not', 100.0)]:
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient.clone()
        norm = nn.utils.clip_grad_norm_(parameters, limit)
        write(name, {'a': gradients[0], 'b': gradients[1], 'clipped_a': parameters[0].grad,
                     'clipped_b': parameters[1].grad, 'norm': norm.reshape(1)}, kind='clip', limit=str(limit))


class Tied(nn.Module):
    def __init__(self, vocabulary, units):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, units)

    def forward(self, x):
        return torch.tanh(self.tokens(x)) @ self.tokens.weight.T


class Output(nn.Module):
    """The outputs of a recurrent module, without its last state."""

    def __init__(self, recurrent):
        super().__init__()
        self.recurrent = recurrent

    def forward(self, x):
        return self.recurrent(x)[0]


class Last(Output):
    """What each direction gives at its end."""

    def forward(self, x):
        state = self.recurrent(x)[1]
        return torch.cat(tuple(state[0] if isinstance(state, tuple) else state), dim=1)


class Truncated(Output):
    """The state goes on over all steps, the gradient only over some."""

    def __init__(self, recurrent, steps):
        super().__init__(recurrent)
        self.steps = steps

    def forward(self, x):
        state, outputs = None, []
        for part in x.split(self.steps, dim=1):
            if state is not None:
                state = tuple(h.detach() for h in state) if isinstance(state, tuple) else state.detach()
            y, state = self.recurrent(part, state)
            outputs.append(y)
        return torch.cat(outputs, dim=1)


class SelfAttention(nn.Module):
    def __init__(self, width, heads, causal, bias=True):
        super().__init__()
        self.attention, self.causal = nn.MultiheadAttention(width, heads, bias=bias, batch_first=True), causal

    def forward(self, x):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if self.causal else None
        return self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]


class RotaryAttention(SelfAttention):
    """The same with queries and keys turned (Su et al. 2021), in the form that pairs both halves of a head."""

    def forward(self, x):
        rows, length, width = x.shape
        heads = self.attention.num_heads
        q, k, v = (part.view(rows, length, heads, -1).transpose(1, 2) for part in
                   F.linear(x, self.attention.in_proj_weight, self.attention.in_proj_bias).chunk(3, dim=-1))
        half = width // heads // 2
        angles = torch.arange(length).double()[:, None] * 10000.0 ** (-torch.arange(half).double() / half)[None, :]

        def turned(x):
            first, second = x[..., :half], x[..., half:]
            return torch.cat([first * angles.cos() - second * angles.sin(),
                              second * angles.cos() + first * angles.sin()], dim=-1)

        scores = turned(q) @ turned(k).transpose(-2, -1) / math.sqrt(2 * half)
        if self.causal:
            scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -math.inf)
        return self.attention.out_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(rows, length, width))


class Padded(nn.Module):
    """A recurrent module on sequences of several lengths: all outputs, or those at each end."""

    def __init__(self, recurrent, lengths, last=False):
        super().__init__()
        self.recurrent, self.lengths, self.last = recurrent, lengths, last

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, self.lengths, batch_first=True, enforce_sorted=False)
        y, state = self.recurrent(packed)
        if self.last:
            return torch.cat(tuple(state[0] if isinstance(state, tuple) else state), dim=1)
        return nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])[0]


class MaskedAttention(SelfAttention):
    """Keys behind a sequence's end are hidden; what comes out there is made zero."""

    def __init__(self, width, heads, causal, lengths):
        super().__init__(width, heads, causal)
        self.lengths = lengths

    def forward(self, x):
        padding = torch.arange(x.shape[1])[None, :] >= torch.tensor(self.lengths)[:, None]
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if self.causal else None
        y = self.attention(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0]
        return y.masked_fill(padding[:, :, None], 0)


def padded_layers():
    lengths = [3, 5, 1]
    for type, module in [('rnn', nn.RNN), ('lstm', nn.LSTM), ('gru', nn.GRU)]:
        names = {'recurrent': f'{type}1'}
        layer(f'{type}_padded', f'{type}: 4', Padded(module(3, 4, batch_first=True), lengths), (3, 5, 3), names,
              lengths=lengths)
        layer(f'{type}_padded_stacked', f'{type}: {{units: 3, layers: 2, bidirectional: true}}',
              Padded(module(4, 3, num_layers=2, bidirectional=True, batch_first=True), lengths), (3, 6, 4), names,
              lengths=lengths)
        layer(f'{type}_padded_last', f'{type}: {{units: 3, bidirectional: true, output: last}}',
              Padded(module(4, 3, bidirectional=True, batch_first=True), lengths, last=True), (3, 5, 4), names,
              lengths=lengths)
    names = {'attention': 'attention1', 'attention.out_proj': 'attention1.out_proj'}
    for name, length, lengths in [('', 5, [3, 5, 1]), ('_long', 140, [70, 128, 1])]:
        for causal in [False, True]:
            layer(f'attention_padded_{"causal" if causal else "whole"}{name}',
                  f'attention: {{heads: 2, causal: {str(causal).lower()}}}', MaskedAttention(4, 2, causal, lengths),
                  (3, length, 4), names, lengths=lengths)


def sequence_layers():
    layer('gelu', 'gelu', nn.GELU(), (3, 2, 3, 5))
    layer('dense_gelu', 'dense: {units: 4, activation: gelu}', nn.Sequential(nn.Linear(6, 4), nn.GELU()), (5, 6),
          {'0': 'dense1'})
    layer('conv_gelu', 'conv: {filters: 4, kernel: 3, activation: gelu}',
          nn.Sequential(nn.Conv2d(3, 4, 3), nn.GELU()), (2, 3, 5, 4), {'0': 'conv1'})
    layer('layer_norm', 'layer_norm', nn.LayerNorm(7), (2, 3, 7), {'': 'layer_norm1'})

    tokens = torch.tensor([[0, 3, 3, 1], [4, 4, 4, 2], [5, 0, 1, 3]])
    layer('embedding', 'embedding: {units: 3, vocabulary: 6}', nn.Embedding(6, 3), None, {'': 'embedding1'},
          tokens=tokens)
    layer('embedding_tied',
          'embedding: {units: 3, vocabulary: 6, name: tokens}, tanh, dense: {units: 6, bias: false, tie: tokens}',
          Tied(6, 3), None, {'tokens': 'tokens'}, tokens=tokens)
    for type, module in [('rnn', nn.RNN), ('lstm', nn.LSTM), ('gru', nn.GRU)]:
        names = {'recurrent': f'{type}1'}
        for length in [1, 2, 9]:
            layer(f'{type}_length_{length}', f'{type}: 4', Output(module(5, 4, batch_first=True)), (3, length, 5), names)
        layer(f'{type}_stacked', f'{type}: {{units: 3, layers: 2, bidirectional: true}}',
              Output(module(4, 3, num_layers=2, bidirectional=True, batch_first=True)), (2, 5, 4), names)
        layer(f'{type}_without_bias', f'{type}: {{units: 3, bias: false}}',
              Output(module(4, 3, bias=False, batch_first=True)), (2, 4, 4), names)
        layer(f'{type}_last', f'{type}: {{units: 3, bidirectional: true, output: last}}',
              Last(module(4, 3, bidirectional=True, batch_first=True)), (2, 4, 4), names)
        layer(f'{type}_truncate', f'{type}: {{units: 3, truncate: 3}}',
              Truncated(module(2, 3, batch_first=True), 3), (2, 8, 2), names)
    layer('rnn_relu', 'rnn: {units: 4, activation: relu}', Output(nn.RNN(5, 4, nonlinearity='relu', batch_first=True)),
          (3, 4, 5), {'recurrent': 'rnn1'})

    names = {'attention': 'attention1', 'attention.out_proj': 'attention1.out_proj'}
    for length in [1, 5, 70]:
        for causal in [False, True]:
            layer(f'attention_{"causal" if causal else "whole"}_{length}',
                  f'attention: {{heads: 2, causal: {str(causal).lower()}}}', SelfAttention(4, 2, causal),
                  (2, length, 4), names)
    layer('attention_without_bias', 'attention: {heads: 3, causal: true, bias: false}',
          SelfAttention(6, 3, True, bias=False), (2, 5, 6), names)
    layer('attention_rotary', 'attention: {heads: 2, causal: true, rotary: true}', RotaryAttention(8, 2, True),
          (2, 6, 8), names)


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


class Boltzmann(nn.Module):
    """The probabilities of hidden units, and of visible ones given these."""

    def __init__(self, visible, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(hidden, visible))
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.visible_bias = nn.Parameter(torch.zeros(visible))

    def forward(self, x):
        return torch.sigmoid(torch.sigmoid(x @ self.weight.T + self.bias) @ self.weight + self.visible_bias)


def later_layers():
    named_layer('positions', 'positions', lambda: Positions(4, 3), (2, 4, 3), {'': 'positions1'})
    tokens = torch.tensor([[0, 3, 3, 1], [4, 4, 4, 2], [5, 0, 1, 3]])
    for positions in ['learned', 'sinusoidal']:
        torch.manual_seed(zlib.crc32(positions.encode()))
        layer(f'embedding_{positions}', f'embedding: {{units: 6, vocabulary: 6, positions: {positions}}}',
              Placed(6, 4, 6, positions == 'learned'), None, {'tokens': 'embedding1', 'places': 'embedding1'},
              tokens=tokens)
    named_layer('reconstruct', 'rbm: {units: 4, learn: backprop}, reconstruct: rbm1', lambda: Boltzmann(6, 4), (5, 6),
                {'': 'rbm1'})
    for type, arguments in [('lstm', {}), ('gru', {}), ('rnn', {})]:
        named_layer(f'{type}_length_65', f'{type}: 4',
                    lambda: Output(getattr(nn, type.upper())(5, 4, batch_first=True)), (2, 65, 5),
                    {'recurrent': f'{type}1'})


def metric(name, yaml, y, value, labels=None, values=None):
    """The value in all its digits, as text."""
    write(f'metric_{name}', {'y': y} | ({'values': values} if labels is None else {'labels': labels}), kind='metric',
          yaml=yaml, value=repr(float(value)))


def metrics():
    """scikit-learn's numbers (Debian 12's python3-sklearn), of outputs that are right more often than chance."""
    from sklearn import metrics as judge
    rows, classes = 120, 5
    labels = torch.randint(classes, (rows,))
    y = (rounded(rows, classes) + 2 * F.one_hot(labels, classes)).float().double()
    said, shares = y.argmax(1), y.softmax(1)
    loss = judge.log_loss(labels, shares)
    metric('accuracy', 'accuracy', y, judge.accuracy_score(labels, said), labels)
    metric('misclassified', 'misclassified', y, judge.zero_one_loss(labels, said), labels)
    metric('top_k', 'top_k: 2', y, judge.top_k_accuracy_score(labels, shares, k=2), labels)
    metric('f1', 'f1', y, judge.f1_score(labels, said, average='macro'), labels)
    metric('f1_class', 'f1: 3', y, judge.f1_score(labels == 3, said == 3), labels)
    metric('confusion', 'confusion', y, judge.balanced_accuracy_score(labels, said), labels)
    metric('log_loss', 'log_loss', y, loss, labels)
    metric('perplexity', 'perplexity', y, math.exp(loss), labels)
    metric('bits_per_character', 'bits_per_character', y, loss / math.log(2), labels)
    odds = (y[:, 3] - y[:, [0, 1, 2, 4]].logsumexp(1)).float()
    metric('auc_class', 'auc: 3', y, judge.roc_auc_score(labels == 3, odds), labels)

    # Scores of few different sizes, so that many are level.
    labels = torch.randint(2, (rows,))
    y = ((rounded(rows, 2) + F.one_hot(labels, 2)) * 2).round() / 2
    metric('auc_level', 'auc', y, judge.roc_auc_score(labels, y[:, 1] - y[:, 0]), labels)
    there = (rounded(rows, 3) > 0.5).double()
    y = ((rounded(rows, 3) + there) * 4).round() / 4 + 0.125
    metric('auc_numbers', 'auc: 2', y, judge.roc_auc_score(there[:, 2], y[:, 2]), values=there)
    metric('label_accuracy', 'label_accuracy', y, 1 - judge.hamming_loss(there, y > 0), values=there)
    metric('f1_labels', 'f1', y, judge.f1_score(there, y > 0, average='macro'), values=there)

    values = rounded(rows, 3)
    y = (values + rounded(rows, 3) / 2).float().double()
    metric('mae', 'mae', y, judge.mean_absolute_error(values, y), values=values)
    metric('r2', 'r2', y, judge.r2_score(values, y), values=values)


def initializer(name, init, fill, convolution=False):
    """How a large weight's numbers are distributed: its quantiles."""
    shape = (64, 48, 5, 5) if convolution else (300, 400)
    weight = torch.zeros(*shape)
    fill(weight)
    quantiles = torch.quantile(weight.double().flatten(), torch.linspace(0.02, 0.98, 25).double())
    yaml = f'conv: {{filters: 64, kernel: 5, init: {init}}}' if convolution else f'dense: {{units: 300, init: {init}}}'
    write(f'initializer_{name}', {'quantiles': quantiles, 'deviation': weight.std().reshape(1)}, kind='initializer',
          yaml=yaml, sample='5 5 48' if convolution else '400')


def initializers():
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


def transforms():
    """torchvision's (Debian 12's python3-torchvision, 0.14). map: from a place in the result to one in the picture, both
    counted from the middle: column of column, column of row, shift; row of column, row of row, shift."""
    import torchvision.transforms.functional as T
    bilinear = T.InterpolationMode.BILINEAR
    picture = rounded(3, 9, 12)
    for name, arguments in [('rotate', dict(angle=30.0)),
                            ('affine', dict(angle=-20.0, translate=[2, -1], scale=1.3, shear=[15.0, 0.0]))]:
        full = dict(dict(translate=[0, 0], scale=1.0, shear=[0.0, 0.0]), **arguments)
        if name == 'rotate':
            moved = T.rotate(picture, **arguments, interpolation=bilinear)
            matrix = T._get_inverse_affine_matrix([0.0, 0.0], -arguments['angle'], [0.0, 0.0], 1.0, [0.0, 0.0])
        else:
            moved = T.affine(picture, **full, interpolation=bilinear)
            matrix = T._get_inverse_affine_matrix([0.0, 0.0], full['angle'], [float(t) for t in full['translate']],
                                                  full['scale'], full['shear'])
        write(f'warp_{name}', {'x': picture[None], 'map': torch.tensor(matrix), 'y': moved[None]}, kind='warp')
    for name, size in [('larger', [13, 25]), ('smaller', [4, 5]), ('both', [5, 20])]:
        resized = T.resize(picture, size, interpolation=bilinear, antialias=True)
        write(f'resize_{name}', {'x': picture[None], 'y': resized[None]}, kind='resize')


torch.manual_seed(20151203)
layers()
losses()
optimizers()
more_layers()
more_losses()
schedules()
trainings()
autoencoder()
# With numbers of their own, so that what is added above leaves these files alone.
torch.manual_seed(20251120)
sequence_layers()
torch.manual_seed(20251121)
clipping()
torch.manual_seed(20251122)
padded_layers()
torch.manual_seed(20261121)
metrics()
torch.manual_seed(20261122)
initializers()
torch.manual_seed(20261123)
transforms()
later_layers()
