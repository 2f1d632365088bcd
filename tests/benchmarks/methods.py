"""Trains a config by several methods of parallel training: test accuracy after the last epoch, and staleness.

Usage: methods.py TRAINER CONFIG DATA [--epochs N] [--methods NAME:RANKS,...] [--seeds 1,2,3] [-s KEY=VALUE]... [--processor NAME] [--commit NAME]
DATA is the folder of the samples. Each rank has one thread. Prints CSV.
"""
import argparse
import csv
import datetime
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from program import cpu_name, metrics_of, set_flags

# The flag of each method, and its settings.
METHODS = {
    'synchronous': ['--datapar'],
    'asynchronous': ['--async'],
    'bf16': ['--datapar', '-s', 'train.compression=bf16'],
    'powersgd': ['--datapar', '-s', 'train.compression={powersgd: {rank: 4}}'],
    'one_bit': ['--datapar', '-s', 'train.compression=one_bit'],
    'powersgd of rank 16': ['--datapar', '-s', 'train.compression={powersgd: {rank: 16}}'],
    'one_bit without momentum': ['--datapar', '-s', 'train.compression={one_bit: {momentum: 0}}'],
    'powersgd of all': ['--datapar', '-s', 'train.compression={powersgd: {rank: 4, min_size: 0}}'],
    'one_bit of all': ['--datapar', '-s', 'train.compression={one_bit: {min_size: 0, momentum: 0}}'],
    'local': ['--datapar', '-s', 'train.local={steps: 10, virtual_workers: 2}'],
    'local of 1 step': ['--datapar', '-s', 'train.local={steps: 1, virtual_workers: 4}'],
    'local of 4 steps': ['--datapar', '-s', 'train.local={steps: 4, virtual_workers: 4}'],
    'local of 4 steps with mean states': ['--datapar', '-s', 'train.local={steps: 4, virtual_workers: 4, optimizer_states: average}'],
    'local of 4 steps by 2': ['--datapar', '-s', 'train.local={steps: 4, virtual_workers: 2}'],
}


def run(options, ranks, seed, flags):
    """The last line of an evaluation, and the largest staleness of all lines."""
    overrides = [f'data.path={options.data}', f'train.epochs={options.epochs}', f'train.seed={seed}', *options.set]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.trainer, '-n', str(ranks), '--threads', '1', *flags, options.config, '-q', '-o', f'{folder}/run',
                        *set_flags(overrides)], check=True, stdout=subprocess.DEVNULL)
        lines = metrics_of(f'{folder}/run')
    last = [line for line in lines if line['split'] == 'test'][-1]
    return last, max(line.get('staleness_max', 0) for line in lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=os.path.abspath)
    parser.add_argument('config', type=os.path.abspath)
    parser.add_argument('data', type=os.path.abspath)
    parser.add_argument('--epochs', type=int, default=5)
    parser.add_argument('--methods', default='synchronous:2,asynchronous:2,asynchronous:4')
    parser.add_argument('--seeds', default='1,2,3')
    parser.add_argument('-s', '--set', action='append', default=[])
    parser.add_argument('--processor', default=cpu_name())
    parser.add_argument('--commit', default='-')
    parser.add_argument('--no-heading', action='store_true')
    options = parser.parse_args()
    about = {'date': datetime.date.today(), 'processor': options.processor, 'commit': options.commit,
             'config': pathlib.Path(options.config).stem, 'epochs': options.epochs}
    table = csv.writer(sys.stdout)
    if not options.no_heading:
        table.writerow([*about, 'training', 'ranks', 'seed', 'accuracy', 'staleness', 'staleness_max', 'seconds'])
    methods = [method.split(':') for method in options.methods.split(',')]
    for seed in options.seeds.split(','):
        for name, ranks in methods:
            last, largest = run(options, ranks, seed, METHODS[name])
            table.writerow([*about.values(), name, ranks, seed, f"{100 * last['accuracy']:.2f}", f"{last.get('staleness', 0):.2f}",
                            largest, f"{last['time']:.1f}"])
            sys.stdout.flush()


if __name__ == '__main__':
    main()
