"""Times ways to train beside each other, in turns, and prints results/modes.csv.

Usage: mode_cost.py TRAINER COMMIT [--runs N] [--workloads abcdef] [--modes exact portable crosscheck bf16] > results/modes.csv
The networks and files are those of peers.py. Speeds are medians of N runs, in images/s or tokens/s; the ratio is the median of the
ratios of each turn: how many times longer a mode takes than the one beside it, of bf16 how many times faster it is.
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
from peers import WORKLOADS, Bench, write_data
from program import cpu_name

# Name -> (the mode beside it, settings).
MODES = {'normal': ('', []), 'exact': ('normal', ['train.exact=true']), 'portable': ('exact', ['train.exact={portable: true}']),
         'crosscheck': ('exact', ['train.exact=true', 'train.crosscheck=1']), 'bf16': ('normal', ['train.precision=bf16'])}
SETTINGS = ['1 thread', '2 ranks']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('commit')
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--workloads', default='abcdef')
    parser.add_argument('--modes', nargs='+', choices=[mode for mode in MODES if mode != 'normal'], default=['exact', 'portable', 'crosscheck', 'bf16'])
    options = parser.parse_args(namespace=argparse.Namespace(processor_time=False, python=None, eager=False))
    options.trainer = options.trainer.resolve()
    timed = [mode for mode in MODES if mode in options.modes or mode in {MODES[other][0] for other in options.modes}]
    table = csv.writer(sys.stdout, lineterminator='\n')
    table.writerow(['date', 'processor', 'commit', 'workload', 'network', 'unit', 'setting', 'mode', 'beside', 'speed_beside', 'speed', 'ratio'])
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        write_data(bench.folder)
        for name in options.workloads:
            workload = WORKLOADS[name]
            changed = {mode: dataclasses.replace(workload, overrides=(*workload.overrides, *MODES[mode][1])) for mode in timed}
            for setting in SETTINGS:
                runs = [{mode: bench.ours(changed[mode], setting) for mode in timed} for _ in range(options.runs)]
                speed = {mode: round(statistics.median(run[mode] for run in runs)) for mode in timed}
                for mode in options.modes:
                    beside = MODES[mode][0]
                    ratio = statistics.median(run[beside] / run[mode] for run in runs)
                    table.writerow([datetime.date.today(), cpu_name(), options.commit, name, workload.text, 'tokens/s' if workload.tokens else 'images/s',
                                    setting, mode, beside, speed[beside], speed[mode], f'{1 / ratio if mode == "bf16" else ratio:.2f}'])
                    sys.stdout.flush()


if __name__ == '__main__':
    main()
