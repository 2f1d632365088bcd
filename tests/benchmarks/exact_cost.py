"""Times exact mode, and crosschecks in it, against normal training, in turns, and prints images/s as Markdown.

Usage: exact_cost.py TRAINER [--runs N] [--workloads abcd]
The networks and files are those of peers.py; the fastest of N runs counts.
"""
import argparse
import dataclasses
import datetime
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
from peers import WORKLOADS, Bench, cpu_name, write_data

MODES = {'normal': [], 'exact': ['train.exact=true'], 'crosscheck': ['train.exact=true', 'train.crosscheck=1']}
SETTINGS = ['1 thread', '2 ranks']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--workloads', default='abcd')
    options = parser.parse_args(namespace=argparse.Namespace(processor_time=False, python=None, eager=False))
    options.trainer = options.trainer.resolve()

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        write_data(bench.folder)
        print(f'{datetime.date.today()}, {cpu_name()}, {len(os.sched_getaffinity(0))} cores, load before {os.getloadavg()[0]:.1f}; '
              f'the fastest of {options.runs} runs, images/s\n')
        print('| workload | setting | normal | exact | cost | with a crosscheck in every step | cost of that |')
        print('|---|---|---|---|---|---|---|', flush=True)
        for name in options.workloads:
            workload = WORKLOADS[name]
            modes = {mode: dataclasses.replace(workload, overrides=(*workload.overrides, *settings))
                     for mode, settings in MODES.items()}
            for setting in SETTINGS:
                runs = [{mode: bench.ours(changed, setting) for mode, changed in modes.items()} for _ in range(options.runs)]
                best = {mode: max(run[mode] for run in runs) for mode in modes}
                print(f'| {name} {workload.text} | {setting} | {best["normal"]:,.0f} | {best["exact"]:,.0f} '
                      f'| {best["normal"] / best["exact"]:.2f} | {best["crosscheck"]:,.0f} '
                      f'| {best["exact"] / best["crosscheck"]:.2f} |', flush=True)


if __name__ == '__main__':
    main()
