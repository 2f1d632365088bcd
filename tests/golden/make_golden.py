"""Writes the golden files of this folder: what PyTorch (Debian 12's python3-torch, 1.13) computes for every layer,
loss and optimizer, and the losses of short trainings; what scikit-learn and torchvision give for metrics and images.

Usage: python3 make_golden.py [SUBJECT...]   (in any folder; the files are written beside this script)

Without a SUBJECT it writes all files; with some, theirs alone. scikit-learn is needed for metrics, torchvision for
transforms.

Layers, losses and optimizers are computed in double precision from float32 inputs, so that the files are exact to the
last digit; the trainings run in float32, as a user's do.

The cases lie in cases/, a module for each subject, which is also a file: optimizers.py makes optimizers.safetensors. A
case in a function called `named` draws its values from a seed that follows from its name, so a new case goes there and
changes no other. All other cases draw from one seed, in the order below.
"""
import importlib
import sys

import torch

sys.dont_write_bytecode = True
from cases import golden_file

# SUBJECT.FUNCTION of the cases of a seed.
IN_THIS_ORDER = {
    20151203: ['dense.one_after_the_other', 'convolutions.one_after_the_other', 'pooling.one_after_the_other', 'shapes.flatten',
               'activations.one_after_the_other', 'normalization.batch_norm', 'joined.one_after_the_other',
               'losses.one_after_the_other'],
    20251120: ['activations.gelu', 'normalization.layer_norm', 'embedding.one_after_the_other',
               'recurrent.one_after_the_other', 'attention.one_after_the_other'],
    20251121: ['optimizers.clipping'],
    20251122: ['recurrent.padded', 'attention.padded'],
    20261121: ['metrics.all_metrics'],
    20261122: ['initializers.all_initializers'],
    20261123: ['transforms.moved_and_scaled'],
}
# These seed their cases themselves.
IN_ANY_ORDER = ['dense.named', 'convolutions.named', 'pooling.named', 'shapes.named', 'activations.named',
                'normalization.named', 'attention.named', 'embedding.named', 'recurrent.named', 'boltzmann.named', 'losses.named',
                'optimizers.named', 'joined.named', 'schedules.all_schedules', 'transforms.colors', 'transforms.tones',
                'trainings.classifiers', 'trainings.autoencoder']


def subject_of(group):
    return group.partition('.')[0]


def make(group):
    subject, _, function = group.partition('.')
    golden_file.begin(subject)
    getattr(importlib.import_module(f'cases.{subject}'), function)()


known = {subject_of(group) for group in [*sum(IN_THIS_ORDER.values(), []), *IN_ANY_ORDER]}
chosen = set(sys.argv[1:]) or known
if not chosen <= known:
    sys.exit(f'no such subject: {", ".join(sorted(chosen - known))}; there are {", ".join(sorted(known))}')
for seed, groups in IN_THIS_ORDER.items():
    torch.manual_seed(seed)
    # A chosen group draws after those before it.
    last = max((i for i, group in enumerate(groups) if subject_of(group) in chosen), default=-1)
    for group in groups[:last + 1]:
        make(group)
for group in IN_ANY_ORDER:
    if subject_of(group) in chosen:
        make(group)
golden_file.save(chosen)
