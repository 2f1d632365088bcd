"""Writes the golden files of this folder: what PyTorch (Debian 12's python3-torch, 1.13) computes for every layer,
loss and optimizer, and the losses of short trainings; what scikit-learn and torchvision give for metrics and images.

Usage: python3 make_golden.py   (in any folder; the files are written beside this script)

Layers, losses and optimizers are computed in double precision from float32 inputs, so that the files hold the right
numbers to the last digit; the trainings run in float32, as a user's would.

The cases lie in cases/, a file for each subject. Those called `named` draw their numbers from a seed that follows from
their name, so a new case goes there and changes no other file. All others draw theirs one after the other, in the
order below.
"""
import sys

import torch

sys.dont_write_bytecode = True
from cases import (activations, attention, boltzmann, convolutions, dense, embedding, initializers, joined, losses, metrics,
                   normalization, optimizers, pooling, recurrent, schedules, shapes, trainings, transforms)

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
for seed, groups in IN_THIS_ORDER.items():
    torch.manual_seed(seed)
    for group in groups:
        group()
for subject in [dense, convolutions, pooling, shapes, activations, normalization, embedding, recurrent, boltzmann, losses,
                optimizers]:
    subject.named()
schedules.all_schedules()
transforms.colors()
trainings.classifiers()
trainings.autoencoder()
