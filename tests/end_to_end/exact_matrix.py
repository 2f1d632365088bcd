"""Trains configs in exact mode wherever they may be computed, and compares the bits of weights, losses and metrics.

Usage: exact_matrix.py TRAINER CONFIGS [--full] [--steps N] [--models NAME;...] [--instructions NAME;...]
                       [--most-ranks N] [--engine auto|native|openblas] [--portable [--program COMMAND]...]
                       [--precision float32|bf16]  (of products and of stored activations)

Each model trains on generated samples, with clip_norm on and an evaluation after every epoch; batches do not divide the
samples, and virtual workers do not divide the batches. Without --full: ten steps in some placements; with it: 200 steps of
batches of 100 from 1,007 samples in all of them, on every set of kernels that this machine has. With --portable: small
batches alone and on two ranks, and all sets of kernels must give the same bits; so must each other program, alone: one of another
compiler, or of another architecture with the emulator before it (`--program "qemu-aarch64 -L ROOT build-arm/cli/trainer"`).
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from generated_data import write_cifar10, write_mnist, write_text

TIMES = {'examples_per_second', 'comm_share', 'wait_share', 'slow_rank', 'data_share', 'time'}
MODELS = {'mnist-mlp': ('mnist-mlp', []),
          'mnist-small': ('mnist-small', []),
          'mnist-small, dropout 0.3': ('mnist-small', ['dropout']),
          'cifar10-resnet20': ('cifar10-resnet20', []),
          'char-lstm': ('char-lstm', []),
          'gpt-small': ('gpt-small', []),
          'gpt-small, dropout 0.1': ('gpt-small', ['dropout'])}
# By config, what is replaced by what.
DROPOUT = {'mnist-small': ('    - dense: 10\n', '    - dropout: 0.3\n    - dense: 10\n'),
           'gpt-small': ('{dense: $width}]', '{dense: $width}, {dropout: 0.1}]')}
# Texts are cut into short sequences, and their models are small.
OF_TEXT = {'char-lstm': ['data.dataset.text.sequence=16', 'model.layers[1].lstm.units=24'],
           'gpt-small': ['data.dataset.text.sequence=16', 'data.dataset.text.stride=16', 'vars.width=32', 'vars.heads=2']}


class Placement:
    def __init__(self, ranks=1, mode='', threads=1, ranks_per_node=0):
        self.ranks, self.mode, self.threads, self.ranks_per_node = ranks, mode, threads, ranks_per_node

    def arguments(self):
        words = ['--threads', str(self.threads)]
        if self.ranks > 1:
            words += ['-n', str(self.ranks)] + self.mode.split()
        if self.ranks_per_node:
            words += ['--ranks-per-node', str(self.ranks_per_node)]
        return words

    def nodes(self):
        if self.ranks_per_node == 0:
            return '1 node'
        whole, rest = divmod(self.ranks, self.ranks_per_node)
        return '+'.join([str(self.ranks_per_node)] * whole + [str(rest)] * (rest > 0)) + ' ranks'

    def text(self):
        mode = self.mode.replace('--', '') or 'alone'
        return f'{self.ranks} x {mode}, {self.threads} threads, {self.nodes()}'


def some_placements():
    return [Placement(threads=2),
            Placement(2, '--datapar'), Placement(2, '--modelpar', threads=2),
            Placement(3, '--datapar', ranks_per_node=2), Placement(3, '--modelpar'),
            Placement(4, '--mesh 2x2', ranks_per_node=2),
            Placement(5, '--datapar', threads=2, ranks_per_node=3), Placement(8, '--modelpar')]


def all_placements():
    result = [Placement(threads=threads) for threads in (1, 2)]
    for ranks in (2, 3, 4, 5, 8):
        modes = ['--datapar', '--modelpar'] + {4: ['--mesh 2x2'], 8: ['--mesh 4x2', '--mesh 2x4']}.get(ranks, [])
        for mode in modes:
            for threads in (1, 2):
                result += [Placement(ranks, mode, threads, per_node) for per_node in (0, (ranks + 1) // 2)]
    return result


def portable_placements():
    return [Placement(2, '--datapar')]


def config_of(model, configs, folder):
    name, changes = MODELS[model]
    text = (configs / f'{name}.yaml').read_text()
    if 'dropout' in changes:
        plain, with_dropout = DROPOUT[name]
        assert plain in text
        text = text.replace(plain, with_dropout)
    file = folder / 'config.yaml'
    file.write_text(text)
    return file


def run(command, config, placement, settings, environment, keep=None, engine='auto'):
    """The weights' SHA-256, or what went wrong, and the metrics without times. keep: where the weights are put."""
    with tempfile.TemporaryDirectory() as parent:
        out = pathlib.Path(parent) / 'run'
        words = [*command, str(config), *placement.arguments(), '-q', '-o', str(out)]
        if engine != 'auto':
            words += ['--engine', engine]
        for setting in settings:
            words += ['-s', setting]
        result = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=7200)
        if result.returncode != 0:
            return f'exit code {result.returncode}: {result.stderr.strip()[:300]}', ''
        file = out / 'checkpoints' / 'last' / 'model.safetensors'
        weights = hashlib.sha256(file.read_bytes()).hexdigest()
        if keep:
            shutil.copyfile(file, keep)
        lines = [json.loads(line) for line in (out / 'metrics.jsonl').read_text().splitlines()]
        kept = [{key: value for key, value in line.items() if key not in TIMES} for line in lines]
        return weights, json.dumps(kept)


def instructions_here():
    flags = pathlib.Path('/proc/cpuinfo').read_text().split() if os.path.exists('/proc/cpuinfo') else []
    here = {'native': {}}
    if 'avx512f' in flags:
        here['avx2'] = {'TRAINER_INSTRUCTIONS': 'avx2'}
    here['baseline'] = {'TRAINER_INSTRUCTIONS': 'baseline'}
    if 'avx2' in flags:
        here['baseline, Haswell BLAS'] = {'TRAINER_INSTRUCTIONS': 'baseline', 'OPENBLAS_CORETYPE': 'Haswell'}
    return here


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('configs', type=pathlib.Path)
    parser.add_argument('--full', action='store_true')
    parser.add_argument('--steps', type=int)
    parser.add_argument('--models')
    parser.add_argument('--instructions')
    parser.add_argument('--most-ranks', type=int, default=8)
    parser.add_argument('--engine', default='auto')
    parser.add_argument('--portable', action='store_true')
    parser.add_argument('--precision', default='float32')
    parser.add_argument('--program', action='append', default=[])
    arguments = parser.parse_args()
    trainer, configs = arguments.trainer.resolve(), arguments.configs.resolve()
    steps = arguments.steps or (200 if arguments.full else 3 if arguments.portable else 10)
    models = arguments.models.split(';') if arguments.models else [model for model in MODELS if arguments.full or model != 'gpt-small']
    chosen = instructions_here()
    if arguments.instructions:
        chosen = {name: chosen[name] for name in arguments.instructions.split(';')}
    elif arguments.portable:
        chosen = {name: variables for name, variables in chosen.items() if 'OPENBLAS_CORETYPE' not in variables}
    elif not arguments.full:
        chosen = {'native': {}}
    all_of_them = all_placements() if arguments.full else portable_placements() if arguments.portable else some_placements()
    placements = [placement for placement in all_of_them if placement.ranks <= arguments.most_ranks]
    failed = False
    for model in models:
        large = model.startswith('cifar10')
        batch, train = (100, 1007) if arguments.full else (20, 47) if large else (100, 307)
        if arguments.portable and not arguments.full:
            batch, train = (2, 6) if large else (10, 30)
        with tempfile.TemporaryDirectory() as parent:
            folder = pathlib.Path(parent)
            text = OF_TEXT.get(MODELS[model][0])
            if text:
                write_text(folder / 'tinyshakespeare.txt', 16 * (train + 203))
            else:
                (write_cifar10 if large else write_mnist)(folder, train, 53 if large else 203)
            config = config_of(model, configs, folder)
            # An epoch of a portable run is three steps, and emulators take long for an evaluation.
            evaluate = 'epoch' if not arguments.portable or steps < 20 else f'{{steps: {steps // 4}}}'
            if arguments.portable and large:
                evaluate = 'never'
            exact = ['train.exact={portable: true}', 'train.virtual_workers=2'] if arguments.portable else ['train.exact=true']
            settings = exact + [f'train.precision={arguments.precision}', f'train.activations={arguments.precision}',
                        f'train.steps={steps}', f'train.batch={batch}', 'train.clip_norm=0.5', f'train.evaluate={evaluate}',
                        f'train.checkpoint={{steps: {steps}}}', 'train.log_every=1',
                        f'data.path={folder}']
            if text:
                settings += text
            elif not large:
                settings += ['train.optimizer={sgd: {lr: 0.02, momentum: 0.9}}']
            expected = None
            programs = [(name, [str(trainer)], variables) for name, variables in chosen.items()]
            programs += [(command, command.split(), {}) for command in arguments.program]
            for name, command, variables in programs:
                environment = {key: value for key, value in os.environ.items()
                               if key not in ('TRAINER_DATA', 'OPENBLAS_CORETYPE', 'TRAINER_INSTRUCTIONS')}
                environment.update(variables)
                begin = time.time()
                alone = run(command, config, Placement(), settings, environment, engine=arguments.engine)
                # Portable runs have the bits of the first set of kernels.
                expected = expected if expected and arguments.portable else alone
                good = len(alone[0]) == 64 and alone == expected
                print(f'{model}, {name}, {steps} steps: SHA-256 {alone[0]}'
                      f'{"" if alone == expected else " DIFFERS"}', flush=True)
                same = 1
                here = placements if command == [str(trainer)] else []
                for placement in here:
                    found = run(command, config, placement, settings, environment, engine=arguments.engine)
                    same += found == expected
                    if found != expected:
                        good = False
                        what = 'metrics' if found[0] == expected[0] else found[0]
                        print(f'  DIFFERS: {placement.text()}: {what}', flush=True)
                print(f'  {same} of {len(here) + 1} placements have these weights, losses and metrics '
                      f'({time.time() - begin:.0f} s)', flush=True)
                failed |= not good
    return failed


if __name__ == '__main__':
    sys.exit(main())
