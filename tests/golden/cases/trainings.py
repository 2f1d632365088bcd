"""The losses of short trainings, in float32 as a user's would be."""
import torch
import torch.nn.functional as F
from torch import nn

from .golden_file import write


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


def classifiers():
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
    """That of configs/neon-autoencoder.yaml: what lies in its middle is linear, and there are no biases."""
    sizes = [784, 1000, 500, 250, 30, 250, 500, 1000, 784]
    linear, modules, yaml = [30, 784], [nn.Flatten()], []
    for before, after in zip(sizes, sizes[1:]):
        modules.append(nn.Linear(before, after, bias=False))
        if after not in linear:
            modules.append(nn.Sigmoid())
        activation = '' if after in linear else ', activation: sigmoid'
        yaml.append(f'dense: {{units: {after}, bias: false{activation}}}')
    training('training_autoencoder', ', '.join(yaml), nn.Sequential(*modules), (1, 28, 28),
             'sigmoid_cross_entropy', lambda y, t: F.binary_cross_entropy_with_logits(y, t, reduction='sum') / len(y))
