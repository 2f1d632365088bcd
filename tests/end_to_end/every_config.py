"""Trains every config of a folder for a few steps on 1, 2, 3 and 4 ranks, and compares the weights.

Usage: every_config.py TRAINER CONFIGS [--only NAME,...] [--steps N]

A config is found by itself, and its data is made up: sets that are known by name, texts, tables and images of the
form that it asks for. Batches are of 10 samples (4 large images), so that ranks have unequal parts, and learning rates
are as much smaller as batches are. Some deep networks that are normalised over the batch have the batch that they ask
for, and the first steps of their own warm-up.

Normal runs may differ by 1e-4: the norm of the difference of all weights and running statistics over their norm. The
largest difference of a tensor by itself is printed, too; it is noise where weights are only noise (the mean of what has the
mean zero), and larger where some number falls on the other side of a relu. Runs in exact mode must have the same bytes of
model.safetensors, and the same losses and metrics, after all steps.
"""
import argparse
import array
import json
import math
import os
import pathlib
import re
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from exact_matrix import Placement, run
from generated_data import write_cifar10, write_diamonds, write_mnist, write_images, write_table, write_text

MOST = 1e-4
# Deep, and normalised over the batch: over few samples rounding grows by itself, in PyTorch too (docs/reproducibility.md).
# The steps of a whole set's epoch, which a warm-up counts, and what is smaller than the config asks for.
OWN_BATCH = {'cifar10-resnet20': (391, {}), 'mobilenet-v2': (391, {}), 'vgg-small': (391, {}),
             'resnet50': (5005, {'train.batch': 64, 'data.dataset.image_folder.size': 64}),
             'resnet50-lars': (40, {'train.batch': 64, 'data.dataset.image_folder.size': 64})}
PLACEMENTS = [Placement(2, '--datapar'), Placement(3, '--datapar'), Placement(4, '--datapar'),
              Placement(3, '--modelpar'), Placement(4, '--mesh 2x2')]


def text_of(config):
    """A config, and after it those that it inherits."""
    text = config.read_text()
    base = re.search(r'^base: (\S+)', text, re.MULTILINE)
    return text + text_of(config.parent / base[1]) if base else text


def write_data(text, folder, large):
    """What a config reads, for large batches or small ones."""
    write_mnist(folder, 47, 13)
    write_cifar10(folder, 256 if large else 47, 13)
    if 'image_folder:' in text:
        write_images(folder, 256 if large else 16, 4)
    if found := re.search(r'text: \{.*?file: ([\w.-]+)', text):
        write_text(folder / found[1], 12000)
    if 'diamonds.csv' in text:
        write_diamonds(folder / 'diamonds.csv', 300)
    elif found := re.search(r'csv: \{.*?train: ([\w.-]+)', text):
        target = int(re.search(r'target: (\d+)', text)[1])
        header = re.search(r'header: (\d+)', text)
        outputs = re.findall(r'dense: (\d+)', text)
        classes = 0 if 'targets: numbers' in text else int(outputs[-1]) if outputs else 2
        write_table(folder / found[1], 60, target, target, classes, int(header[1]) if header else 0)


def settings_of(name, text, folder, steps):
    made_for = int(re.search(r'^  batch: (\d+)', text, re.MULTILINE)[1])
    changed = {'data.path': folder, 'data.fraction': 1, 'train.steps': steps,
               # The digits that the program draws are 10,000 to test on.
               'train.evaluate': 'never' if 'dataset: {digits' in text else 'end',
               'train.checkpoint': f'{{steps: {steps}}}', 'train.log_every': 1}
    if name in OWN_BATCH:
        epoch, smaller = OWN_BATCH[name]
        changed |= {'train.batch': made_for} | smaller
        epochs = int(re.search(r'^  warmup: \{epochs: (\d+)\}', text, re.MULTILINE)[1])
        changed['train.warmup'] = f'{{steps: {epochs * epoch}}}'
    else:
        changed['train.batch'] = 4 if 'image_folder:' in text else 10
    batch = changed['train.batch']
    settings = [f'{key}={value}' for key, value in changed.items()]
    optimizer = re.search(r'^  optimizer: \{(\w+): \{lr: ([\d.e+-]+)', text, re.MULTILINE)
    others = re.search(r'others: \{(\w+): \{\s*lr: ([\d.e+-]+)', text)
    if optimizer and made_for > batch and not re.search('^  lr_scaling:', text, re.MULTILINE):
        rates = {f'{optimizer[1]}.lr': optimizer[2]} | ({f'{optimizer[1]}.others.{others[1]}.lr': others[2]} if others else {})
        settings += [f'train.optimizer.{key}={float(rate) * batch / made_for:.9f}' for key, rate in rates.items()]
    return settings


def tensors(file):
    content = file.read_bytes()
    begin = 8 + int.from_bytes(content[:8], 'little')
    found = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name != '__metadata__':
            first, last = entry['data_offsets']
            found[name] = array.array('f', content[begin + first:begin + last])
    return found


def distance(a, b):
    piece = 1 << 20
    return math.hypot(*(math.dist(a[first:first + piece], b[first:first + piece]) for first in range(0, len(a), piece)))


def differences(file, expected):
    """Of all tensors as one, relative; then the largest of one by itself, and its name."""
    others = tensors(file)
    assert others.keys() == expected.keys()
    squares, norms, largest, where = 0.0, 0.0, 0.0, ''
    for name, weights in expected.items():
        norm = distance(weights, array.array('f', bytes(4 * len(weights))))
        difference = distance(others[name], weights) if weights != others[name] else 0.0
        squares, norms = squares + difference ** 2, norms + norm ** 2
        own = difference / norm if difference > 0 and norm > 0 else difference
        if not own <= largest:
            largest, where = own, name
    return math.sqrt(squares / norms), largest, where


def check(trainer, config, steps, environment):
    """The problems found, and one line of results."""
    begin = time.time()
    text = text_of(config)
    problems, worst, largest, where, same = [], 0.0, 0.0, '', 0
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent)
        write_data(text, folder, config.stem in OWN_BATCH)
        settings = settings_of(config.stem, text, folder, steps)
        alone, other = folder / 'alone.safetensors', folder / 'other.safetensors'
        weights, _ = run([trainer], config, Placement(), settings, environment, alone)
        if not alone.exists():
            return [f'alone: {weights}'], ''
        expected = tensors(alone)
        for placement in PLACEMENTS:
            other.unlink(missing_ok=True)
            weights, _ = run([trainer], config, placement, settings, environment, other)
            if not other.exists():
                problems.append(f'{placement.text()}: {weights}')
                continue
            difference, of_tensor, name = differences(other, expected)
            if not difference <= MOST:
                problems.append(f'{placement.text()}: weights differ by {difference:.1e}')
            worst = max(worst, difference)
            if not of_tensor <= largest:
                largest, where = of_tensor, name
        exact = settings + ['train.exact=true']
        reference = run([trainer], config, Placement(), exact, environment)
        if len(reference[0]) != 64:
            problems.append(f'exact, alone: {reference[0]}')
        for placement in PLACEMENTS:
            found = run([trainer], config, placement, exact, environment)
            same += found == reference
            if found != reference:
                what = 'metrics differ' if found[0] == reference[0] else 'weights differ' if len(
                    found[0]) == 64 else found[0]
                problems.append(f'exact, {placement.text()}: {what}')
    line = f'| {config.stem} | {worst:.1e} | {largest:.1e} {where} | {same} of {len(PLACEMENTS)} | {time.time() - begin:.0f} |'
    return problems, line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('configs', type=pathlib.Path)
    parser.add_argument('--only', help='names, with commas between them')
    parser.add_argument('--steps', type=int, default=5)
    arguments = parser.parse_args()
    configs = sorted(arguments.configs.glob('*.yaml'))
    if arguments.only:
        names = arguments.only.split(',')
        configs = [config for config in configs if config.stem in names]
        assert len(configs) == len(names), 'no such config'
    environment = {key: value for key, value in os.environ.items() if key != 'TRAINER_DATA'}
    failed = 0
    print('| config | all weights | largest of a tensor | exact | s |\n|---|---|---|---|---|', flush=True)
    for config in configs:
        problems, line = check(arguments.trainer.resolve(), config, arguments.steps, environment)
        print(line or f'| {config.stem} | | | | |', flush=True)
        for problem in problems:
            print(f'  FAILS: {config.stem}, {problem}', flush=True)
        failed += len(problems) > 0
    print(f'{len(configs) - failed} of {len(configs)} configs hold', flush=True)
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
