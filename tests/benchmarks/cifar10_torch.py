"""Trains the network of configs/cifar10-fast.yaml in PyTorch, on the same files and with the same recipe, for its yardstick.

Usage: cifar10_torch.py FOLDER [--epochs N] [--images N] [--seeds N] [--threads N]

FOLDER holds data_batch_*.bin and test_batch.bin. Prints for each seed the training accuracy of each epoch, the seconds of
training and the test accuracy, without and with the six views. Compiled by torch.compile where this PyTorch has it.
"""
import argparse
import pathlib
import time

import torch
import torch.nn.functional as F
from torch import nn


def read(files):
    records = torch.cat([torch.frombuffer(bytearray(file.read_bytes()), dtype=torch.uint8) for file in files]).view(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32).float() / 255, records[:, 0].long()


class Norm(nn.BatchNorm2d):
    def __init__(self, channels):
        super().__init__(channels, eps=1e-12, momentum=0.4)
        self.weight.requires_grad = False


def convolution(inputs, outputs):
    layer = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    nn.init.dirac_(layer.weight.data[:inputs])
    return layer


def group(inputs, outputs):
    return [convolution(inputs, outputs), nn.MaxPool2d(2), Norm(outputs), nn.GELU(), convolution(outputs, outputs),
            Norm(outputs), nn.GELU()]


def network(images):
    first = nn.Conv2d(3, 24, 2)
    first.weight.requires_grad = False
    patches = F.unfold(images[:5000], 2).transpose(1, 2).reshape(-1, 12).double()
    values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
    directions = (vectors / (values + 5e-4).sqrt()).T.reshape(12, 3, 2, 2).float()
    first.weight.data = torch.cat([directions, -directions])
    first.bias.data.zero_()
    head = nn.Linear(256, 10, bias=False)
    nn.init.normal_(head.weight, std=0.0039)
    return nn.Sequential(first, nn.GELU(), *group(24, 64), *group(64, 256), *group(256, 256), nn.MaxPool2d(3), nn.Flatten(), head)


def orthogonal(matrix):
    x = matrix / (matrix.norm() + 1e-7)
    for _ in range(3):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x


class Muon:
    def __init__(self, kernels, momentum=0.6):
        self.kernels, self.momentum = kernels, momentum
        self.means = [torch.zeros_like(kernel) for kernel in kernels]

    @torch.no_grad()
    def step(self, rate):
        for kernel, mean in zip(self.kernels, self.means):
            mean.lerp_(kernel.grad, 1 - self.momentum)
            kernel.mul_(len(kernel) ** 0.5 / kernel.norm())
            step = orthogonal(kernel.grad.lerp(mean, self.momentum).flatten(1))
            kernel.sub_(step.view_as(kernel), alpha=rate)


def batches(images, labels, size, epoch, flips):
    """Images shifted by up to two pixels, mirrored in every other epoch."""
    padded = F.pad(images, (2, 2, 2, 2), 'reflect')
    order = torch.randperm(len(images))
    for first in range(0, len(images) - size + 1, size):
        some = order[first:first + size]
        shifts = torch.randint(0, 5, (size, 2))
        rows = shifts[:, 0, None] + torch.arange(32)
        columns = shifts[:, 1, None] + torch.arange(32)
        x = padded[some[:, None, None], :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
        mirrored = (flips[some] + epoch) % 2 == 1
        yield torch.where(mirrored[:, None, None, None], x.flip(-1), x).contiguous(memory_format=torch.channels_last), labels[some]


@torch.no_grad()
def accuracy(model, images, labels, has_views):
    right = 0
    for x, y in zip(images.split(1000), labels.split(1000)):
        mirror = lambda x: (model(x) + model(x.flip(-1))) / 2
        if has_views:
            padded = F.pad(x, (1, 1, 1, 1), 'reflect')
            output = mirror(x) / 2 + (mirror(padded[:, :, :32, :32]) + mirror(padded[:, :, 2:, 2:])) / 4
        else:
            output = model(x)
        right += (output.argmax(1) == y).sum().item()
    return right / len(labels)


def train(images, labels, epochs, batch):
    model = network(images).to(memory_format=torch.channels_last)
    run = torch.compile(model) if hasattr(torch, 'compile') else model
    kernels = [layer.weight for layer in model if isinstance(layer, nn.Conv2d) and layer.weight.requires_grad]
    biases = [layer.bias for layer in model if isinstance(layer, (nn.Conv2d, Norm)) and layer.bias is not None]
    others = torch.optim.SGD([dict(params=biases, first=100, weight_decay=4e-5),
                              dict(params=[model[-1].weight], first=0.02, weight_decay=0.2)],
                             lr=1, momentum=0.85, nesterov=True)
    muon = Muon(kernels)
    flips = torch.randint(0, 2, (len(images),))
    steps, step = epochs * (len(images) // batch), 0
    begin = time.monotonic()
    for epoch in range(epochs):
        right = seen = 0
        for x, y in batches(images, labels, batch, epoch, flips):
            output = run(x)
            loss = F.cross_entropy(output, y, label_smoothing=0.2)
            right, seen = right + (output.argmax(1) == y).sum().item(), seen + len(y)
            model.zero_grad(set_to_none=True)
            loss.backward()
            left = 1 - step / steps
            for part in others.param_groups:
                part['lr'] = part['first'] * left
            others.step()
            muon.step(0.24 * left)
            step += 1
        print(f'epoch {epoch + 1}: training accuracy {right / seen:.4f}, {time.monotonic() - begin:.1f} s', flush=True)
    return model.eval(), time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--epochs', type=int, default=8)
    parser.add_argument('--batch', type=int, default=2000)
    parser.add_argument('--images', type=int, default=50000)
    parser.add_argument('--seeds', type=int, default=3)
    parser.add_argument('--threads', type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    images, labels = read(sorted(arguments.folder.glob('data_batch_*.bin')))
    images, labels = images[:arguments.images], labels[:arguments.images]
    test_images, test_labels = read([arguments.folder / 'test_batch.bin'])
    mean, deviation = images.mean((0, 2, 3), keepdim=True), images.std((0, 2, 3), keepdim=True)
    images, test_images = (images - mean) / deviation, (test_images - mean) / deviation
    for seed in range(1, arguments.seeds + 1):
        torch.manual_seed(seed)
        model, seconds = train(images, labels, arguments.epochs, arguments.batch)
        print(f'PyTorch {torch.__version__}, {arguments.threads} threads, seed {seed}: {seconds:.1f} s, '
              f'accuracy {accuracy(model, test_images, test_labels, False):.4f}, '
              f'with views {accuracy(model, test_images, test_labels, True):.4f}', flush=True)


if __name__ == '__main__':
    main()
