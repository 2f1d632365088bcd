"""Trains the same networks with the program and with PyTorch, in turns, and prints how fast both were as Markdown.

Usage: peers.py TRAINER FMA_PEAK [--runs N] [--workloads abcdefg] [--processor-time] [--python PROGRAM]...
                [--eager]
The program's side is the whole program, from YAML to the run directory, on random images or text in files; its figure is
that of all epochs but the first, of text in tokens. PyTorch's side is torch_training.py, by the first Python that has PyTorch: a first short run of
all its settings, with every build of OpenBLAS that Debian has installed, leaves two that take part in the turns, and the
one with the higher median counts. --python: other Pythons that have PyTorch, such as a script that calls one in a chroot, of whose
settings together two take part; from version 2 on they are also compiled by torch.compile, which takes
minutes for each workload, unless --eager is given. --processor-time compares what is done in a second of processor time, on one thread only: for a
machine that others use at the same time. A second table compares memory: the sum of the proportional set sizes of all
processes at its highest.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

sys.dont_write_bytecode = True
from program import cpu_name

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent


@dataclass
class Workload:
    text: str
    config: pathlib.Path
    channels_last: bool  # PyTorch has that setting: there are convolutions
    images: int          # in its data set; of a text, sequences
    epochs: int          # the first one warms up
    targets: dict        # setting -> least speed over that of PyTorch
    tokens: int = 0      # of a sequence
    characters: int = 0  # different ones in the text
    overrides: tuple = ()  # of its config


WORKLOADS = {
    'a': Workload('MLP 784-100-10', root / 'configs/mnist-mlp.yaml', False, 60000, 17, {'1 thread': 1.5, '2 ranks': 1.85}),
    'b': Workload('MLP 784-1024-1024-10', here / 'mlp-large.yaml', False, 60000, 2, {'1 thread': 1.17, '2 ranks': 1.2}),
    'c': Workload('convnet', root / 'configs/mnist-small.yaml', True, 60000, 2, {'1 thread': 2.3, '2 ranks': 2.8}),
    'd': Workload('ResNet-20', root / 'configs/cifar10-resnet20.yaml', True, 2560, 2, {'1 thread': 1.2, '2 ranks': 1.28}),
    'e': Workload('LSTM 128', here / 'lstm.yaml', False, 6400, 3, {'1 thread': 1.6, '2 ranks': 1.8}, 50, 96),
    'f': Workload('GPT 4 x 128', here / 'gpt.yaml', False, 1200, 3, {'1 thread': 1.35, '2 ranks': 1.6}, 64, 65),
    'g': Workload('ResNet-50, batch 16', root / 'configs/resnet50.yaml', True, 32, 3, {'1 thread': 1, '2 ranks': 1}, overrides=(
        'data.dataset={synthetic: {shape: [3, 224, 224], classes: 1000, train: 32, test: 16}}', 'data.augment=[]', 'train.batch=16')),
}
SETTINGS = {'1 thread': ['--threads', '1'],
            '2 threads': ['--threads', '2'],
            '2 ranks': ['--ranks', '2', '--datapar', '--threads', '1']}
# Threads of one process are to be within a tenth of as many ranks.
THREADS_TO_RANKS = 0.9
# Of PyTorch's settings, so many take part in the turns.
FINALISTS, SCREENING_SECONDS = 2, 0.5
MEMORY_WORKLOADS = 'ac'


def write_data(folder):
    """Random images and texts in the files of all data sets, so that the benchmark needs none."""
    def idx(name, extents, content):
        header = bytes([0, 0, 8, len(extents)]) + b''.join(extent.to_bytes(4, 'big') for extent in extents)
        (folder / 'mnist' / name).write_bytes(header + content)

    (folder / 'mnist').mkdir()
    (folder / 'cifar10').mkdir()
    for split, images in (('train', WORKLOADS['a'].images), ('t10k', 128)):
        idx(f'{split}-images-idx3-ubyte', [images, 28, 28], os.urandom(images * 28 * 28))
        idx(f'{split}-labels-idx1-ubyte', [images], bytes(i * 7 % 10 for i in range(images)))
    for name, images in (('data_batch_1', WORKLOADS['d'].images), ('test_batch', 128)):
        (folder / 'cifar10' / f'{name}.bin').write_bytes(
            b''.join(bytes([i * 7 % 10]) + os.urandom(3072) for i in range(images)))

    (folder / 'text').mkdir()
    for workload in WORKLOADS.values():
        if workload.tokens:
            letters = os.urandom(workload.images * workload.tokens + 1)
            (folder / 'text' / f'{workload.characters}-characters.txt').write_bytes(
                bytes(32 + letter % workload.characters for letter in letters))


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        # The environment may force slower BLAS kernels than this CPU has, and threads.
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ('OPENBLAS_CORETYPE', 'OPENBLAS_L2_SIZE', 'OMP_NUM_THREADS')}
        self.environment.update(TRAINER_DATA=str(folder), OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
        self.core_type = self.missed_core_type()
        here = next((python for python in (sys.executable, '/usr/bin/python3') if self.has_torch(python)), None)
        # With the version of their PyTorch; the one of this machine is the first.
        self.pythons = {python: self.output(python, '-c', 'import torch; print(torch.__version__)').strip()
                        for python in [here, *(options.python or [])] if python}
        self.python = next(iter(self.pythons), None)
        self.python_here = here

    def output(self, *command, environment=None):
        done = subprocess.run([str(word) for word in command], cwd=self.folder, text=True,
                              env={**self.environment, **(environment or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=600)
        if done.returncode != 0:
            sys.exit(f'{command}\n{done.stdout}{done.stderr}ended with {done.returncode}')
        return done.stdout

    def missed_core_type(self):
        """For PyTorch: a processor that OpenBLAS does not know yet gets its oldest kernels, unless the variable names others."""
        info = self.output(self.options.trainer, 'info')
        if not re.search(r'^--engine +openblas .* Prescott\b', info, re.MULTILINE):
            return {}
        instructions = re.search(r'^instructions +(.*)$', info, re.MULTILINE)[1]
        core_types = {'AVX-512': 'SkylakeX', 'AVX2': 'Haswell'}
        return {'OPENBLAS_CORETYPE': core_types[instructions]} if instructions in core_types else {}

    def has_torch(self, python):
        return subprocess.run([python, '-c', 'import torch'], capture_output=True, env=self.environment).returncode == 0

    def peak_memory(self, *command):
        """The highest sum of the proportional set sizes of a command and all its children, in MiB."""
        with subprocess.Popen([str(word) for word in command], cwd=self.folder, env=self.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            peak = 0
            while process.poll() is None:
                peak = max(peak, sum(map(proportional_set_size, descendants(process.pid))))
                time.sleep(0.05)
        if process.returncode != 0:
            sys.exit(f'{command}\nended with {process.returncode}')
        return peak / 1024

    def training(self, workload, epochs, placement, run):
        return [self.options.trainer, workload.config, *placement, '--progress', 'plain', '-o', run,
                '-s', f'train.epochs={epochs}', '-s', 'train.evaluate=never', '-s', 'train.checkpoint=never',
                '-s', 'train.optimizer={sgd: {lr: 0.01, momentum: 0.9}}', *settings_of(workload)]

    def epochs(self, workload, epochs, placement):
        """results.csv of a run, and the processor seconds that it took."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = self.new_folder() / 'run'
        self.output(*self.training(workload, epochs, placement, run))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        with (run / 'results.csv').open() as results:
            return list(csv.DictReader(results)), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def new_folder(self):
        return pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def ours(self, workload, setting):
        rows, processor = self.epochs(workload, workload.epochs, SETTINGS[setting])
        images = workload.images * max(workload.tokens, 1) * (workload.epochs - 1)
        if self.options.processor_time:
            return images / (processor - self.epochs(workload, 1, SETTINGS[setting])[1])
        return images / (float(rows[-1]['time']) - float(rows[0]['time']))

    def torch_command(self, python, name, words):
        return [python, here / 'torch_training.py', name, *words, '--meeting', self.new_folder() / 'meeting']

    def torch(self, name, setting, *more):
        line = json.loads(self.output(*self.torch_command(setting.python, name, [*setting.words, *more]), environment=setting.environment))
        return line['per_processor_second' if self.options.processor_time else 'per_second']

    def torch_settings(self, python, workload, cores):
        """All settings of a PyTorch that use so many cores."""
        placements = {1: {'1 thread': []}, 2: {'2 threads': ['--threads', '2'], 'DDP 2x1': ['--ranks', '2']}}[cores]
        layouts = {'': [], ', channels last': ['--channels-last']} if workload.channels_last else {'': []}
        if not self.options.eager and not self.pythons[python].startswith('1.'):
            layouts.update({f'{layout}, compiled': [*words, '--compile'] for layout, words in layouts.items()})
        # The builds are those of this system.
        builds = {} if python != self.python_here else {f', {folder.name}': {'LD_LIBRARY_PATH': str(folder)}
                  for folder in sorted(pathlib.Path('/usr/lib').glob('*/openblas-*'))}
        # PyTorch does not limit the threads of OpenBLAS' pthread build: as "1 thread" it took all cores.
        threads = {placement: {'OPENBLAS_NUM_THREADS': '2' if placement == '2 threads' else '1'} for placement in placements}
        placed = [(placement + layout, [*words, *more], placement) for placement, words in placements.items()
                  for layout, more in layouts.items() if not (placement == 'DDP 2x1' and '--compile' in more)]
        core_type = self.core_type if python == self.python_here else {}
        return [TorchSetting(python, f'{self.pythons[python]}: {text}{build}', words, {**environment, **threads[placement], **core_type})
                for text, words, placement in placed for build, environment in (builds or {'': {}}).items()]

    def torch_finalists(self, name, cores):
        settings = [setting for python in self.pythons for setting in self.torch_settings(python, WORKLOADS[name], cores)]
        return sorted(settings, key=lambda setting: -self.torch(name, setting, '--seconds', SCREENING_SECONDS))[:FINALISTS]

    def training_operations(self, workload):
        """Of an image or token: forward and both products of backward, without that into the pixels."""
        summary = self.output(self.options.trainer, 'summary', workload.config, *settings_of(workload))
        cells = [line.split() for line in summary.split(' FLOPs\n')[1].split('\ntotal')[0].splitlines()
                 if not line.startswith(' ')]  # layers inside of others
        layers = [[int(cell.replace(',', '')) for cell in line if re.fullmatch(r'[\d,]+', cell)] for line in cells]
        forward = [numbers[-1] for line, numbers in zip(cells, layers)
                   if numbers and numbers[-1] >= 1000 and not any('embedding' in cell for cell in line)]
        return 3 * sum(forward) / workload.tokens if workload.tokens else 3 * sum(forward) - forward[0]

    def peak(self, threads):
        return float(self.output(self.options.fma_peak, threads))


def settings_of(workload):
    return [word for override in workload.overrides for word in ('-s', override)]


def descendants(process):
    """A process and all below it."""
    yield process
    for children in pathlib.Path(f'/proc/{process}/task').glob('*/children'):
        try:
            for child in children.read_text().split():
                yield from descendants(int(child))
        except OSError:  # it has ended
            pass


def proportional_set_size(process):
    """In KiB; 0 once it has ended."""
    try:
        match = re.search(r'^Pss: *(\d+)', pathlib.Path(f'/proc/{process}/smaps_rollup').read_text(), re.MULTILINE)
    except OSError:
        match = None
    return int(match[1]) if match else 0


@dataclass
class TorchSetting:
    python: str
    text: str
    words: list        # of the command line
    environment: dict


@dataclass
class Speed:
    """Images/s or tokens/s of all runs of one setting."""
    setting: str
    runs: list

    @property
    def median(self):
        return statistics.median(self.runs)

    def text(self):
        digits = 0 if self.median >= 100 else 1
        return f'{self.median:,.{digits}f} ({min(self.runs):,.{digits}f} to {max(self.runs):,.{digits}f})'


def measure(bench, name, settings):
    """The speeds of one workload: ours by setting, PyTorch's best by cores."""
    workload = WORKLOADS[name]
    ours = {setting: Speed(setting, []) for setting in settings}
    theirs = {}
    if bench.python:
        for cores in {1 if setting == '1 thread' else 2 for setting in settings}:
            theirs[cores] = [(setting, Speed(setting.text, [])) for setting in bench.torch_finalists(name, cores)]
    for run in range(bench.options.runs):
        for setting, speed in ours.items():
            speed.runs.append(bench.ours(workload, setting))
        for choices in theirs.values():
            for setting, speed in choices:
                speed.runs.append(bench.torch(name, setting))
        print(f'{name}: run {run + 1} of {bench.options.runs}', file=sys.stderr, flush=True)
    return ours, {cores: max((speed for _, speed in choices), key=lambda speed: speed.median)
                  for cores, choices in theirs.items()}


def judgement(setting, target, ratio, ours):
    if setting == '2 threads':
        if '2 ranks' not in ours:
            return ''
        share = ours[setting].median / ours['2 ranks'].median
        return f'{THREADS_TO_RANKS} of 2 ranks: {share:.2f}, {"met" if share >= THREADS_TO_RANKS else "**missed**"}'
    if ratio is None:
        return f'{target} x: not measured'
    return f'{target} x: {"met" if ratio >= target else "**missed**"}'


def compare_memory(bench):
    print('\n| workload | cores | trainer, MiB | PyTorch, MiB | at most PyTorch\'s |\n|---|---|---|---|---|', flush=True)
    for name in MEMORY_WORKLOADS:
        workload = WORKLOADS[name]
        for cores, placements in ((1, ['1 thread']), (2, ['2 threads', '2 ranks'])):
            ours = {placement: bench.peak_memory(*bench.training(workload, 1, SETTINGS[placement], bench.new_folder() / 'run'))
                    for placement in placements}
            theirs = {}
            if bench.python:
                commands = {'1 thread': []} if cores == 1 else {'2 threads': ['--threads', '2'], 'DDP 2x1': ['--ranks', '2']}
                theirs = {placement: bench.peak_memory(*bench.torch_command(bench.python, name, words))
                          for placement, words in commands.items()}
            cells = [', '.join(f'{placement} {size:.0f}' for placement, size in sizes.items()) for sizes in (ours, theirs)]
            verdict = 'skipped' if not theirs else 'met' if max(ours.values()) <= min(theirs.values()) else '**missed**'
            print(f'| {name} {workload.text} | {cores} | {cells[0]} | {cells[1]} | {verdict} |', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('fma_peak', type=pathlib.Path)
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--workloads', default='abcdefg')
    parser.add_argument('--processor-time', action='store_true')
    parser.add_argument('--python', action='append')
    parser.add_argument('--eager', action='store_true')
    options = parser.parse_args()
    options.trainer, options.fma_peak = options.trainer.resolve(), options.fma_peak.resolve()
    settings = ['1 thread'] if options.processor_time else list(SETTINGS)

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        write_data(bench.folder)
        if not bench.python:
            print('PyTorch skipped: no Python here has it (on Debian: apt-get install python3-torch)\n', flush=True)
        versions = [bench.output(options.trainer, '--version').strip()]
        if bench.python:
            versions += [f'PyTorch {version}' for version in bench.pythons.values()]
            versions += [f'its OpenBLAS as {name}' for name in bench.core_type.values()]
        peaks = {1: bench.peak(1), 2: bench.peak(2)}
        load = os.getloadavg()[0]
        print(f'{datetime.date.today()}, {cpu_name()}, {len(os.sched_getaffinity(0))} cores, load before {load:.1f}, '
              f'{", ".join(versions)}; median of {options.runs} runs (least to most), images/s, of e and f tokens/s'
              f'{" of processor time" if options.processor_time else ""}; FMA peak {peaks[1]:.0f} GFLOP/s on 1 core, '
              f'{peaks[2]:.0f} on 2.\n')
        print('| workload | setting | trainer | PyTorch, best setting | | ratio | target | GFLOP/s | of the peak |')
        print('|---|---|---|---|---|---|---|---|---|', flush=True)
        for name in options.workloads:
            workload = WORKLOADS[name]
            operations = bench.training_operations(workload)
            ours, theirs = measure(bench, name, settings)
            for setting, speed in ours.items():
                cores = 1 if setting == '1 thread' else 2
                best = theirs.get(cores)
                ratio = speed.median / best.median if best else None
                rate = speed.median * operations / 1e9
                print(f'| {name} {workload.text} | {setting} | {speed.text()} | {best.text() if best else "skipped"} '
                      f'| {best.setting if best else ""} | {f"{ratio:.2f}" if best else ""} '
                      f'| {judgement(setting, workload.targets.get(setting), ratio, ours)} | {rate:.0f} '
                      f'| {rate / peaks[cores]:.0%} |', flush=True)
        compare_memory(bench)


if __name__ == '__main__':
    main()
