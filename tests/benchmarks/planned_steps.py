"""Time of a step: what `trainer plan` predicts, and what a run on this machine then takes.

Usage: planned_steps.py TRAINER CONFIGS [--runs N] > results/planned_steps.csv
Data is made up. Plans and runs take turns; figures are medians. A rank has one thread.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from peers import cpu_name

IMAGES = 'data.dataset={synthetic: {shape: [%s], classes: 10, train: %d, test: 128}}'
# Name -> (steps of a run, settings).
CONFIGS = {
    'mnist-small': (400, [IMAGES % ('1, 28, 28', 12800)]),
    'cifar10-resnet20': (30, [IMAGES % ('3, 32, 32', 2560), 'data.augment=[]']),
    'gpt-small': (40, ['data.dataset={text: {file: tinyshakespeare.txt, tokens: bytes, sequence: 128, stride: 32}}']),
}
MILLISECONDS = {'us': 1e-3, 'ms': 1, 's': 1e3}


def predicted_step(plan):
    """Of the text of a plan, in ms."""
    value, unit = re.search(r'^predicted step +([\d.,]+) (\w+)', plan, re.MULTILINE).groups()
    return float(value.replace(',', '')) * MILLISECONDS[unit]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('configs', type=pathlib.Path)
    parser.add_argument('--runs', type=int, default=3)
    options = parser.parse_args()
    commit = subprocess.run(['git', '-C', options.configs, 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True,
                            check=True).stdout.strip()
    # The environment may force slower kernels.
    environment = {name: value for name, value in os.environ.items() if not name.startswith('OPENBLAS_')}
    environment |= {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
    rows = csv.writer(sys.stdout, lineterminator='\n')
    rows.writerow(['date', 'processor', 'commit', 'config', 'ranks', 'planned_ms', 'measured_ms', 'ratio'])
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent)
        (folder / 'tinyshakespeare.txt').write_text(''.join(chr(32 + i * i % 91) for i in range(400000)))

        def call(command, name, ranks, more):
            words = [*command, *(['-n', str(ranks), '--datapar'] if ranks > 1 else []), options.configs.resolve() / f'{name}.yaml',
                     '--threads', '1', '-s', f'data.path={folder}']
            words += [word for setting in [*CONFIGS[name][1], *more] for word in ('-s', setting)]
            return subprocess.run([options.trainer.resolve(), *words], capture_output=True, text=True, check=True, cwd=folder, env=environment).stdout

        def planned(name, ranks):
            return predicted_step(call(['plan'], name, ranks, []))

        def measured(name, ranks):
            steps = CONFIGS[name][0]
            with tempfile.TemporaryDirectory() as run:
                call(['--progress', 'none', '-o', f'{run}/run'], name, ranks,
                     ['train.epochs=~', f'train.steps={steps}', 'train.evaluate=never', f'train.log_every={steps // 10}'])
                lines = [json.loads(line) for line in pathlib.Path(run, 'run/metrics.jsonl').read_text().splitlines()]
            lines = [line for line in lines if line['split'] == 'train']
            return statistics.median(1e3 * (later['time'] - line['time']) / (later['step'] - line['step'])
                                     for line, later in zip(lines, lines[1:]) if later['step'] > line['step'])

        for name in CONFIGS:
            for ranks in (1, 2):
                turns = [(planned(name, ranks), measured(name, ranks)) for _ in range(options.runs)]
                plan, run = (statistics.median(column) for column in zip(*turns))
                rows.writerow([datetime.date.today(), cpu_name(), commit, name, ranks, f'{plan:.2f}', f'{run:.2f}', f'{plan / run:.2f}'])
                sys.stdout.flush()


if __name__ == '__main__':
    main()
