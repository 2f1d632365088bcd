"""Fifty steps of every optimizer, and clipping by norm."""
import zlib

import torch
from torch import nn

from .golden_file import rounded, write


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


class Muon(torch.optim.Optimizer):
    """Keller Jordan's Muon (2024) of matrices (inputs, outputs), the transpose of PyTorch's; PyTorch 1.13 has none."""

    def __init__(self, parameters, lr=0.02, momentum=0.95, weight_decay=0, normalize=False, iterations=5):
        super().__init__(parameters, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, normalize=normalize,
                                          iterations=iterations))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            keep = group['momentum']
            for weight in group['params']:
                mean = self.state[weight].setdefault('mean', torch.zeros_like(weight))
                mean.copy_(keep * mean + (1 - keep) * weight.grad)
                x = ((1 - keep) * weight.grad + keep * mean).T
                x = x / (x.norm() + 1e-7)
                for _ in range(group['iterations']):
                    a = x @ x.T
                    x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
                outputs, inputs = x.shape
                if group['normalize']:
                    weight.mul_(outputs ** 0.5 / weight.norm())
                weight.mul_(1 - group['lr'] * group['weight_decay'])
                weight.sub_(group['lr'] * max(1, outputs / inputs) ** 0.5 * x.T)


def optimizer(name, yaml, kind, steps=50, shape=(9,), **arguments):
    torch.manual_seed(zlib.crc32(name.encode()))
    weight = rounded(*shape).requires_grad_()
    first = weight.detach().clone()
    optimizer = kind([weight], **arguments)
    gradients = rounded(steps, *shape)
    values = []
    for gradient in gradients:
        weight.grad = gradient.clone()
        optimizer.step()
        values.append(weight.detach().clone())
    write(name, {'first': first, 'gradients': gradients, 'values': torch.stack(values)}, kind='optimizer', yaml=yaml)


def named():
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
    optimizer('muon', 'muon', Muon, shape=(4, 7))
    optimizer('muon_all', 'muon: {lr: 0.1, momentum: 0.6, weight_decay: 0.3, normalize: true, iterations: 3}', Muon,
              shape=(6, 3), lr=0.1, momentum=0.6, weight_decay=0.3, normalize=True, iterations=3)
    optimizer('lion', 'lion', Lion, lr=1e-4)
    optimizer('lion_all', 'lion: {lr: 0.01, betas: [0.8, 0.95], weight_decay: 0.3}', Lion, lr=0.01, betas=(0.8, 0.95),
              weight_decay=0.3)


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
