"""Measures both engines: matrix products by shape to results/engines.csv, and whole training steps of the workloads of peers.py to
results/engine_steps.csv, the best of several runs in turns on one thread, with each set of kernels that the processor has.

Usage: engines.py KERNELS_BENCHMARK TRAINER PROJECT_ROOT [--runs N] [--workloads abcdefg]. Run results.py afterwards: it puts the
figures into docs/engines.md. Without workloads engine_steps.csv stays.
"""
import argparse
import bisect
import csv
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import peers
import program
from program import commit_of, cpu_name

results = pathlib.Path(__file__).parent / 'results'
# Of a run, after as many to warm up.
STEPS = {'a': 300, 'b': 40, 'c': 40, 'd': 2, 'e': 15, 'f': 10, 'g': 2}
ENGINES = ('native', 'openblas')


def kernel_sets(trainer):
    """The environments of the processor's own kernels, and of those for AVX2 where it has more."""
    environment = program.environment()
    info = subprocess.run([trainer, 'info'], env=environment, capture_output=True, text=True, check=True).stdout
    core_type = 'Zen' if 'AMD' in cpu_name() else 'Haswell'
    older = {**environment, 'TRAINER_INSTRUCTIONS': 'avx2', 'OPENBLAS_CORETYPE': core_type}
    return [environment] + ([older] if 'AVX-512' in info else [])


def products(benchmark, environment, runs):
    """The kernels, and by product the best GFLOP/s of each engine."""
    best, kernels = {}, ''
    for _ in range(runs):
        output = subprocess.run([benchmark, 'products'], env=environment, capture_output=True, text=True, check=True)
        kernels, _, *rows = output.stdout.splitlines()
        for what, transposed, engine, _, rate, _ in csv.reader(rows):
            speeds = best.setdefault((what, transposed), {})
            speeds[engine] = max(speeds.get(engine, 0), float(rate))
    return kernels.lstrip('# '), best


def parts_of_steps(trace):
    """By step the microseconds of its layers, forward and backward, and at last of the rest."""
    events = [event for event in json.loads(trace.read_text())['traceEvents'] if event['ph'] == 'X']
    begins = sorted(event['ts'] for event in events if event['name'] == 'load, forward, backward')
    layers, totals = [[] for _ in begins], [0] * len(begins)
    for event in sorted(events, key=lambda event: event['ts']):
        step = bisect.bisect_right(begins, event['ts']) - 1
        if event['cat'] == 'step':
            totals[step] += event['dur']
        else:
            layers[step].append(event['dur'])
    return [[*parts, total - sum(parts)] for parts, total in zip(layers, totals)]


def time(trainer, environment, name, folder, *more):
    workload = peers.WORKLOADS[name]
    return subprocess.run(
        [trainer, 'time', workload.config, '--threads', '1', '--steps', str(STEPS[name]), *more, '-s',
         'train.optimizer={sgd: {lr: 0.01, momentum: 0.9}}', *peers.settings_of(workload)],
        env={**environment, 'TRAINER_DATA': str(folder)}, cwd=folder, capture_output=True, text=True, check=True).stdout


def steps(trainer, environment, name, runs, folder):
    """The milliseconds of a step with each engine, as the sum of the least times of its layers and of the rest: other programs
    interrupt a whole step more often."""
    best = {}
    for run in range(runs):
        for engine in ENGINES if run % 2 == 0 else reversed(ENGINES):
            time(trainer, environment, name, folder, '--engine', engine, '--trace', 'trace.json')
            for parts in parts_of_steps(folder / 'trace.json'):
                best[engine] = list(map(min, best.get(engine, parts), parts))
    return [sum(best[engine]) / 1000 for engine in ENGINES]


def products_of_step(trainer, environment, name, runs, folder):
    """The least microseconds of all products of a step: with the native engine, with OpenBLAS, and with the faster one of each."""
    texts = [time(trainer, environment, name, folder, '--engines', 'engines.csv') for _ in range(runs)]
    return [min(column) for column in zip(*(map(float, re.search(r'^step (.*)$', text, re.MULTILINE)[1].split()) for text in texts))]


def write(name, head, rows):
    """Replaces the rows of these kernels and shapes or workloads; others, such as those of another processor's kernels, stay."""
    place, first = results / f'{name}.csv', head.index('kernels')
    subject = slice(first, first + 3)
    measured = {tuple(map(str, row[subject])) for row in rows}
    with place.open(newline='') as file:
        others = [row for row in list(csv.reader(file))[1:] if tuple(row[subject]) not in measured]
    with place.open('w', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows([head, *others, *rows])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('benchmark')
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('root')
    parser.add_argument('--runs', type=int, default=9)
    parser.add_argument('--workloads', default='abcdefg')
    options = parser.parse_args()
    trainer = options.trainer.resolve()
    commit = commit_of(options.root)
    of_products, of_steps = [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        peers.write_data(folder)
        for environment in kernel_sets(trainer):
            kernels, best = products(options.benchmark, environment, options.runs)
            source = [datetime.date.today(), cpu_name(), commit, kernels]
            of_products += [[*source, what, transposed, *(speeds[engine] for engine in ENGINES)]
                            for (what, transposed), speeds in best.items()]
            for name in options.workloads:
                of_steps.append([*source, name, peers.WORKLOADS[name].text,
                                 *(f'{ms:.3f}' for ms in steps(trainer, environment, name, options.runs, folder)),
                                 *products_of_step(trainer, environment, name, options.runs, folder)])
                print(*of_steps[-1], f'load {os.getloadavg()[0]:.1f}', sep=', ', file=sys.stderr, flush=True)
    head = ['date', 'processor', 'commit', 'kernels']
    write('engines', [*head, 'shape', 'transposed', 'native_gflops', 'openblas_gflops'], of_products)
    if of_steps:
        write('engine_steps', [*head, 'workload', 'network', 'native_ms', 'openblas_ms', 'native_us', 'openblas_us', 'table_us'], of_steps)


if __name__ == '__main__':
    main()
