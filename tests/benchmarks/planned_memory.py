"""Memory of a rank by kind: what `trainer plan` predicts, what the run reports from its allocations, and the processes' Pss.

Usage: planned_memory.py TRAINER CONFIGS [--only NAME] [--mode MODE] > results/planned_memory.csv
Data is made up. `planned` and `measured` are bytes of a rank; a block that ranks share counts in parts. `pss_mib` is the most that all ranks
had at a time by smaps_rollup, `rest_mib` a rank's part of it beyond the measured kinds: the program, its libraries and MPI.
"""
import argparse
import collections
import csv
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from activations import recomputed
from program import commit_of, cpu_name, set_flags, write_text

IMAGES = 'data.dataset={synthetic: {shape: [%s], classes: 10, train: 512, test: 256}}'
LARGE = """data: {dataset: {synthetic: {shape: [784], classes: 10, train: 512, test: 256}}}
model:
  layers: [{dense: {units: 2048, activation: relu}}, {dense: {units: 2048, activation: relu}}, {dense: {units: 2048, activation: relu}}, {dense: 10}]
  loss: softmax_cross_entropy
train: {epochs: 1, batch: 128, optimizer: {adam: {lr: 0.001}}}
"""
# Name -> settings; None: no file of configs/.
CONFIGS = {
    'mnist-mlp': [IMAGES % '1, 28, 28'],
    'mnist-small': [IMAGES % '1, 28, 28'],
    'cifar10-resnet20': [IMAGES % '3, 32, 32'],
    'gpt-small': ['data.dataset={text: {file: tinyshakespeare.txt, tokens: bytes, sequence: 128, stride: 32}}'],
    'mlp-2048': [],
}
# Mode -> (flags by number of ranks, settings). A rank has one thread, but in modes of threads their number is that of ranks here.
SAVED = 'with checkpoints'
BF16, STORED, EXACT = 'train.precision=bf16', 'train.activations=bf16', 'train.exact=true'
MODES = {
    'one process': ({1: []}, []),
    'threads': ({2: [], 4: []}, []),
    'threads, one worker': ({n: ['--workers', '1'] for n in (2, 4)}, []),
    '--datapar': ({2: ['--datapar'], 4: ['--datapar']}, []),
    '--modelpar': ({2: ['--modelpar'], 4: ['--modelpar']}, []),
    '--mesh 2x2': ({4: ['--mesh', '2x2']}, []),
    '--shard state, a host each': ({n: ['--datapar', '--ranks-per-node', '1'] for n in (2, 4)}, []),
    '--shard gradients': ({n: ['--datapar', '--shard', 'gradients'] for n in (2, 4)}, []),
    '--shard parameters': ({n: ['--datapar', '--shard', 'parameters'] for n in (2, 4)}, []),
    'recompute': ({1: [], 2: ['--datapar'], 4: ['--datapar']}, []),
    'activations: bf16': ({1: [], 2: ['--datapar'], 4: ['--datapar']}, [STORED]),
    'precision: bf16': ({1: [], 2: ['--datapar'], 4: ['--datapar']}, [BF16]),
    SAVED: ({1: [], 2: ['--datapar'], 4: ['--modelpar']}, []),
    'exact': ({1: [], 2: ['--datapar'], 4: ['--datapar']}, [EXACT]),
    'exact, --shard parameters': ({n: ['--datapar', '--shard', 'parameters'] for n in (2, 4)}, [EXACT]),
}
UNITS = {'B': 1, 'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30}
MIB, PAGE = 1 << 20, 1 << 12


def bytes_of(text):
    value, unit = text.split()
    return float(value.replace(',', '')) * UNITS[unit]


def planned(text, ranks_of_host):
    """Bytes of a rank by kind."""
    lines = text[text.index('\nmemory '):].strip().splitlines()[1:]
    kinds = collections.Counter()
    for line in lines:
        cells = re.split(r'  +', line.strip())
        if cells[0] == 'total':
            return kinds
        kinds[cells[0]] += bytes_of(cells[-1]) / ranks_of_host
    raise ValueError(text)


def pss_of_ranks(trainer, parent):
    """Bytes of the processes of this program that descend from `parent`; those that start others are not ranks."""
    parents, programs = {}, set()
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(')')[2].split()[1])
            if (stat.parent / 'exe').resolve() == trainer:
                programs.add(int(stat.parent.name))
        except OSError:
            pass
    launchers = set(parents[process] for process in parents)
    total = 0
    for process in programs - launchers:
        ancestor = process
        while ancestor in parents and ancestor != parent:
            ancestor = parents[ancestor]
        if ancestor != parent:
            continue
        try:
            rollup = pathlib.Path(f'/proc/{process}/smaps_rollup').read_text()
            total += int(re.search(r'^Pss: +(\d+) kB', rollup, re.MULTILINE)[1]) << 10
        except (OSError, TypeError):
            pass
    return total


def measured(trainer, words, folder):
    """What the run reports by kind, and the most Pss of all ranks."""
    with subprocess.Popen([trainer, *words, '--progress', 'json'], cwd=folder, stdout=subprocess.PIPE, text=True) as run:
        most = 0
        while run.poll() is None:
            most = max(most, pss_of_ranks(trainer, run.pid))
            time.sleep(0.01)
        lines = run.stdout.read().splitlines()
    if run.returncode != 0:
        raise subprocess.CalledProcessError(run.returncode, words)
    return json.loads(lines[-1])['memory_of_rank'], most


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('configs', type=pathlib.Path)
    parser.add_argument('--only', choices=CONFIGS)
    parser.add_argument('--mode', choices=MODES)
    options = parser.parse_args()
    trainer = options.trainer.resolve()
    commit = commit_of(options.configs)
    rows = csv.writer(sys.stdout, lineterminator='\n')
    rows.writerow(['date', 'processor', 'commit', 'config', 'mode', 'ranks', 'kind', 'planned', 'measured', 'ratio', 'pss_mib', 'rest_mib'])
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent)
        write_text(folder / 'tinyshakespeare.txt', 40000)
        for name, made_up in CONFIGS.items():
            plain = LARGE if name == 'mlp-2048' else (options.configs / f'{name}.yaml').read_text()
            (folder / 'plain.yaml').write_text(plain)
            (folder / 'recompute.yaml').write_text(recomputed(plain))
            for mode, (places, settings) in MODES.items():
                if options.only not in (None, name) or options.mode not in (None, mode) or (mode == 'recompute' and 'blocks:' not in plain):
                    continue
                for ranks, flags in places.items():
                    words = ['recompute.yaml' if mode == 'recompute' else 'plain.yaml', *flags, '--threads', '1']
                    words += set_flags([f'data.path={folder}', 'train.epochs=1', 'train.steps=4', *made_up,
                                        f'train.checkpoint={"epoch" if mode == SAVED else "never"}', *settings])
                    is_one_process = mode.startswith('threads') or not flags
                    if mode.startswith('threads'):
                        words[words.index('--threads') + 1] = str(ranks)
                    launched = [] if is_one_process else ['-n', str(ranks)]
                    plan = subprocess.run([trainer, 'plan', *words, *launched, '--rate', '50'], cwd=folder, capture_output=True, text=True,
                                          check=True).stdout
                    expected = planned(plan, int(re.search(r"of a host with (\d+) rank", plan)[1]))
                    kinds, pss = measured(trainer, [*launched, *words, '-o', f'runs/{name}-{mode}-{ranks}'.replace(' ', '_')], folder)
                    rest = pss / (1 if is_one_process else ranks) - sum(kinds.values())
                    for kind in dict.fromkeys([*expected, *kinds]):
                        a, b = expected.get(kind, 0), kinds.get(kind, 0)
                        if kind in ('program', 'samples in memory') or max(a, b) < PAGE:
                            continue
                        rows.writerow([datetime.date.today(), cpu_name(), commit, name, mode, ranks, kind, f'{a:.0f}', b,
                                       f'{a / b:.2f}' if b else '', f'{pss / MIB:.1f}', f'{rest / MIB:.1f}'])
                    sys.stdout.flush()


if __name__ == '__main__':
    main()
