"""What the guards cost: `trainer time` with them and without, in turns, on one thread.

Usage: guards.py TRAINER [--runs N] [--only NAME;...]

Prints the update's milliseconds with and without guards, and the difference as a share of the step: of the medians
of all runs, and of their least, which what else the machine does disturbs less.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

CONFIG = pathlib.Path(__file__).parent / 'mlp-large.yaml'
CASES = {'momentum': [],
         'lars': ['train.optimizer={lars: {lr: 1}}'],
         'adam': ['train.optimizer={adam: {lr: 0.001}}'],
         'lamb': ['train.optimizer={lamb: {lr: 0.001}}'],
         'momentum, average': ['train.average=0.999'],
         'adam, average': ['train.optimizer={adam: {lr: 0.001}}', 'train.average=0.999']}


def times_of(trainer, settings):
    """Milliseconds of the update and of the step."""
    words = [trainer, 'time', str(CONFIG), '--threads', '1']
    for setting in settings:
        words += ['-s', setting]
    environment = {key: value for key, value in os.environ.items() if not key.startswith('OPENBLAS_')}
    result = subprocess.run(words, env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr)
    update = sum(float(line.split()[5]) for line in result.stdout.splitlines() if line.startswith('dense'))
    return update, float(re.search(r'^step +([\d.]+)', result.stdout, re.MULTILINE)[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer')
    parser.add_argument('--runs', type=int, default=15)
    parser.add_argument('--only')
    arguments = parser.parse_args()
    print('| optimizer | step, ms | update with guards | without | cost of the medians | of the least |')
    print('|---|---|---|---|---|---|')
    for name in arguments.only.split(';') if arguments.only else CASES:
        guarded, bare, steps = [], [], []
        for _ in range(arguments.runs):
            guarded.append(times_of(arguments.trainer, CASES[name])[0])
            update, step = times_of(arguments.trainer, CASES[name] + ['train.guards=never'])
            bare.append(update)
            steps.append(step)
        ends = [(f(guarded), f(bare), f(steps)) for f in (statistics.median, min)]
        shares = [f'{100 * (with_guards - without) / step:.1f} %' for with_guards, without, step in ends]
        with_guards, without, step = ends[0]
        print(f'| {name} | {step:.2f} | {with_guards:.3f} | {without:.3f} | {shares[0]} | {shares[1]} |', flush=True)


if __name__ == '__main__':
    main()
