"""Times training in bf16 against float32, in turns, and prints results/bfloat16.csv.

Usage: bfloat16.py TRAINER COMMIT [--runs N] [--workloads abcdefg] > results/bfloat16.csv
The networks and files are those of peers.py; the medians of N runs count, in images/s or tokens/s.
"""
import argparse
import csv
import dataclasses
import datetime
import pathlib
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
from peers import WORKLOADS, Bench, cpu_name, write_data

PRECISIONS = ['float32', 'bf16']
SETTINGS = ['1 thread', '2 ranks']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('commit')
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--workloads', default='abcdef')
    options = parser.parse_args(namespace=argparse.Namespace(processor_time=False, python=None, eager=False))
    options.trainer = options.trainer.resolve()
    table = csv.writer(sys.stdout, lineterminator='\n')
    table.writerow(['date', 'processor', 'commit', 'workload', 'network', 'setting', 'unit', *PRECISIONS, 'ratio'])
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        write_data(bench.folder)
        for name in options.workloads:
            workload = WORKLOADS[name]
            changed = {precision: dataclasses.replace(workload, overrides=(*workload.overrides, f'train.precision={precision}'))
                       for precision in PRECISIONS}
            for setting in SETTINGS:
                runs = [[bench.ours(changed[precision], setting) for precision in PRECISIONS] for _ in range(options.runs)]
                speeds = [statistics.median(column) for column in zip(*runs)]
                ratio = statistics.median(bf16 / float32 for float32, bf16 in runs)
                table.writerow([datetime.date.today(), cpu_name(), options.commit, name, workload.text, setting,
                                'tokens/s' if workload.tokens else 'images/s', *(round(speed) for speed in speeds), f'{ratio:.2f}'])
                sys.stdout.flush()


if __name__ == '__main__':
    main()
