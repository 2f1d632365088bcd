"""Writes the golden files of this folder: what PyTorch (Debian 12's python3-torch, 1.13) computes for every layer,
loss and optimizer, and the losses of short trainings; what scikit-learn and torchvision give for metrics and images.

Usage: python3 make_golden.py   (in any folder; the files are written beside this script)

Layers, losses and optimizers are computed in double precision from float32 inputs, so that the files are exact to the
last digit; the trainings run in float32, as a user's do.

The cases lie in cases/, a module for each subject, which is also a file: optimizers.py makes optimizers.safetensors. A
case in a function called `named` draws its values from a seed that follows from its name, so a new case goes there and
changes no other. All other cases draw from one seed, in the order below.
"""
import sys

import torch

sys.dont_write_bytecode = True
from cases import (activations, attention, boltzmann, convolutions, dense, embedding, golden_file, initializers, joined,
                   losses, metrics, normalization, optimizers, pooling, recurrent, schedules, shapes, trainings, transforms)

IN_THIS_ORDER = {
    20151203: [dense.one_after_the_other, convolutions.one_after_the_other, pooling.one_after_the_other, shapes.flatten,
               activations.one_after_the_other, normalization.batch_norm, joined.one_after_the_other,
               losses.one_after_the_other],
    20251120: [activations.gelu, normalization.layer_norm, embedding.one_after_the_other, recurrent.one_after_the_other,
               attention.one_after_the_other],
    20251121: [optimizers.clipping],
    20251122: [recurrent.padded, attention.padded],
    20261121: [metrics.all_metrics],
    20261122: [initializers.all_initializers],
    20261123: [transforms.moved_and_scaled],
}


def make(group):
    golden_file.begin(group.__module__)
    group()


for seed, groups in IN_THIS_ORDER.items():
    torch.manual_seed(seed)
    for group in groups:
        make(group)
for subject in [dense, convolutions, pooling, shapes, activations, normalization, embedding, recurrent, boltzmann, losses,
                optimizers, joined]:
    make(subject.named)
make(schedules.all_schedules)
make(transforms.colors)
make(trainings.classifiers)
make(trainings.autoencoder)
golden_file.save()
