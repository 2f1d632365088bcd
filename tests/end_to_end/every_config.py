"""Trains every config of a folder for a few steps on 1, 2, 3 and 4 ranks, and compares the weights.

Usage: every_config.py TRAINER CONFIGS [--only NAME,...] [--steps N]

A config is found by itself, and its data is made up: sets that are known by name, texts, tables and pictures of the
form that it asks for. Batches are of 10 samples (4 large pictures), so that ranks have unequal parts.

Normal runs may differ by 1e-4: the norm of the difference over the norm of the weights, of each tensor by itself.
The bias of attention's keys is left out: softmax takes what all scores of a query share away again, so its gradient
is zero but for rounding, which adam makes as large as any step. Runs in exact mode must have the same bytes of
model.safetensors, and the same losses and metrics.
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
from generated_data import write_cifar10, write_mnist, write_pictures, write_table, write_text

MOST = 1e-4
PLACEMENTS = [Placement(2, '--datapar'), Placement(3, '--datapar'), Placement(4, '--datapar'),
              Placement(3, '--modelpar'), Placement(4, '--mesh 2x2')]


def write_data(text, folder):
    """What a config wants to read."""
    write_mnist(folder, 47, 13)
    write_cifar10(folder, 47, 13)
    if 'image_folder:' in text:
        write_pictures(folder, 16, 4)
    if found := re.search(r'text: \{.*?file: ([\w.-]+)', text):
        write_text(folder / found[1], 12000)
    if found := re.search(r'csv: \{.*?train: ([\w.-]+)', text):
        target = int(re.search(r'target: (\d+)', text)[1])
        header = re.search(r'header: (\d+)', text)
        outputs = re.findall(r'dense: (\d+)', text)
        classes = 0 if 'targets: numbers' in text else int(outputs[-1]) if outputs else 2
        write_table(folder / found[1], 60, target, target, classes, int(header[1]) if header else 0)


def settings_of(text, folder, steps):
    large = 'image_folder:' in text
    # The digits that the program draws are 10,000 to test on.
    evaluate = 'never' if 'dataset: {digits' in text else 'end'
    return [f'data.path={folder}', 'data.fraction=1', f'train.steps={steps}', f'train.batch={4 if large else 10}',
            f'train.evaluate={evaluate}', f'train.checkpoint={{steps: {steps}}}', 'train.log_every=1']


def tensors(file):
    content = file.read_bytes()
    begin = 8 + int.from_bytes(content[:8], 'little')
    found = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name != '__metadata__':
            first, last = entry['data_offsets']
            found[name] = array.array('f', content[begin + first:begin + last])
    for name in [name for name in found if name.endswith('.in_proj_bias')]:
        third = len(found[name]) // 3
        found[f'{name} of queries'] = found[name][:third]
        found[f'{name} of values'] = found.pop(name)[2 * third:]
    return found


def distance(a, b):
    piece = 1 << 20
    return math.hypot(*(math.dist(a[first:first + piece], b[first:first + piece]) for first in range(0, len(a), piece)))


def largest_difference(file, expected):
    """Relative, of any tensor, and that tensor's name."""
    largest, where = 0.0, ''
    others = tensors(file)
    assert others.keys() == expected.keys()
    for name, weights in expected.items():
        if weights == others[name]:
            continue
        norm = distance(weights, array.array('f', bytes(4 * len(weights))))
        difference = distance(others[name], weights) / norm if norm > 0 else math.inf
        if not difference <= largest:
            largest, where = difference, name
    return largest, where


def check(trainer, config, steps, environment):
    """Problems, and what there is to say in a line."""
    begin = time.time()
    text = config.read_text()
    problems, largest, where, same = [], 0.0, '', 0
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent)
        write_data(text, folder)
        settings = settings_of(text, folder, steps)
        alone, other = folder / 'alone.safetensors', folder / 'other.safetensors'
        weights, _ = run(trainer, config, Placement(), settings, environment, alone)
        if not alone.exists():
            return [f'alone: {weights}'], ''
        expected = tensors(alone)
        for placement in PLACEMENTS:
            other.unlink(missing_ok=True)
            weights, _ = run(trainer, config, placement, settings, environment, other)
            if not other.exists():
                problems.append(f'{placement.text()}: {weights}')
                continue
            difference, name = largest_difference(other, expected)
            if not difference <= MOST:
                problems.append(f'{placement.text()}: {name} differs by {difference:.1e}')
            if not difference <= largest:
                largest, where = difference, name
        exact = settings + ['train.exact=true']
        reference = run(trainer, config, Placement(), exact, environment)
        if len(reference[0]) != 64:
            problems.append(f'exact, alone: {reference[0]}')
        for placement in PLACEMENTS:
            found = run(trainer, config, placement, exact, environment)
            same += found == reference
            if found != reference:
                what = 'metrics differ' if found[0] == reference[0] else 'weights differ' if len(
                    found[0]) == 64 else found[0]
                problems.append(f'exact, {placement.text()}: {what}')
    line = f'| {config.stem} | {largest:.1e} {where} | {same} of {len(PLACEMENTS)} | {time.time() - begin:.0f} |'
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
    print(f'| config | largest difference of a tensor | exact | s |\n|---|---|---|---|', flush=True)
    for config in configs:
        problems, line = check(arguments.trainer.resolve(), config, arguments.steps, environment)
        print(line or f'| {config.stem} | | | |', flush=True)
        for problem in problems:
            print(f'  FAILS: {config.stem}, {problem}', flush=True)
        failed += len(problems) > 0
    print(f'{len(configs) - failed} of {len(configs)} configs hold', flush=True)
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
