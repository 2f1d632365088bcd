"""A layer's case: input, parameters, states, output, and the gradients that follow from dy."""
import zlib

import torch

from .golden_file import rounded, write


def layer(name, yaml, module, shape, names=None, mode='training', tokens=None, lengths=None):
    """names: ours for PyTorch's prefixes, {'': 'conv1'} by default. tokens: the input, where it is integers. lengths: of
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
            if tensor.requires_grad:
                tensors[f'gradient/{ours[key]}'] = tensor.grad
        for key, tensor in states.items():
            tensors[f'state_after/{ours[key]}'] = tensor
    write(name, tensors, kind='layer', yaml=yaml, mode=mode,
          **({'lengths': ' '.join(map(str, lengths))} if lengths else {}))


def named_layer(name, yaml, make, shape, names=None):
    """As layer(), but with values that follow from the name, so that other cases do not change them."""
    torch.manual_seed(zlib.crc32(name.encode()))
    layer(name, yaml, make(), shape, names)
