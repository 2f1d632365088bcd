"""Measures matrix products with both engines and writes the best of several runs to results/engines.csv.

Usage: engines.py KERNELS_BENCHMARK PROJECT_ROOT [--runs N]. Run results.py afterwards: it puts the figures into docs/engines.md.
"""
import argparse
import csv
import datetime
import os
import pathlib
import subprocess


def processor():
    for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
        if line.startswith('model name'):
            return ' '.join(line.split(':')[1].split())
    return 'unknown processor'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('benchmark')
    parser.add_argument('root', type=pathlib.Path)
    parser.add_argument('--runs', type=int, default=5)
    arguments = parser.parse_args()
    # A user's choice of OpenBLAS' kernels is not the machine's.
    environment = {key: value for key, value in os.environ.items() if not key.startswith('OPENBLAS_')}
    best, kernels = {}, ''
    for _ in range(arguments.runs):
        output = subprocess.run([arguments.benchmark, 'products'], env=environment, capture_output=True, text=True, check=True)
        kernels, _, *rows = output.stdout.splitlines()
        for what, transposed, engine, _, rate, _ in csv.reader(rows):
            speeds = best.setdefault((what, transposed), {})
            speeds[engine] = max(speeds.get(engine, 0), float(rate))
    commit = subprocess.run(['git', '-C', arguments.root, 'rev-parse', '--short=7', 'HEAD'], capture_output=True, text=True,
                            check=True).stdout.strip()
    with (pathlib.Path(__file__).parent / 'results' / 'engines.csv').open('w', newline='') as file:
        table = csv.writer(file, lineterminator='\n')
        table.writerow(['date', 'processor', 'commit', 'kernels', 'shape', 'transposed', 'native_gflops', 'openblas_gflops'])
        for (what, transposed), speeds in best.items():
            table.writerow([datetime.date.today(), processor(), commit, kernels.lstrip('# '), what, transposed,
                            speeds['native'], speeds['openblas']])


if __name__ == '__main__':
    main()
