"""Times snapshots: short runs with one after every step against runs without, in turns, and prints rows of results/snapshots.csv.

Usage: snapshot_cost.py TRAINER CONFIGS [--runs N]
The fastest of N runs counts. The batch is small, so that the snapshot shows; its cost does not depend on it. TRAINER_DATA names real data.
"""
import datetime
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from program import commit_of, cpu_name, metrics_of, parsed_options, set_flags

STEPS = {'mnist-small': 300, 'cifar10-resnet20': 100}


def seconds(options, config, ranks, steps, settings, folder):
    """Seconds of a run's steps after the first ten, and its snapshots' bytes."""
    out = pathlib.Path(tempfile.mkdtemp(dir=folder)) / 'run'
    words = [options.trainer, options.configs / f'{config}.yaml', '-q', '-o', out, '-n', str(ranks), '--datapar', '--threads', '1',
             '--restarts', '1',
             *set_flags(['train.batch=8', f'train.steps={steps}', 'train.log_every=10', 'train.evaluate=never',
                         'train.checkpoint.steps=1000000', *settings])]
    subprocess.run(words, check=True, capture_output=True)
    rows = metrics_of(out)
    files = (out / 'checkpoints/last').resolve().iterdir()
    return rows[-1]['time'] - rows[0]['time'], sum(path.stat().st_size for path in files)


def main():
    options = parsed_options()
    commit = commit_of(pathlib.Path(__file__).parent)
    print('date,processor,commit,config,ranks,megabytes,step_ms,snapshot_ms', flush=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ['HOME'] = folder
        for config, steps in STEPS.items():
            # Schedules may need more steps than a short run has.
            plain = ['train.schedule=constant']
            for ranks in (1, 2):
                without, taken = [], []
                for _ in range(options.runs):
                    without.append(seconds(options, config, ranks, steps, plain, folder)[0])
                    time, size = seconds(options, config, ranks, steps, plain + ['train.snapshot={steps: 1}'], folder)
                    taken.append(time)
                count = steps - 10
                print(f'{datetime.date.today()},{cpu_name()},{commit},{config},{ranks},{size / 1e6:.1f},'
                      f'{min(without) / count * 1e3:.1f},{(min(taken) - min(without)) / count * 1e3:.1f}', flush=True)


if __name__ == '__main__':
    main()
