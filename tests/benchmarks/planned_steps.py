"""Time of a step: what `trainer plan` predicts, and what a run on this machine then takes.

Usage: planned_steps.py TRAINER CONFIGS [--runs N] > results/planned_steps.csv
Data is made up. Plans and runs take turns; figures are medians. A rank has one thread.
"""
import csv
import datetime
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from program import commit_of, cpu_name, environment, metrics_of, parsed_options, predicted_step_ms, set_flags, write_text

IMAGES = 'data.dataset={synthetic: {shape: [%s], classes: 10, train: %d, test: 128}}'
# Name -> (steps of a run, settings).
CONFIGS = {
    'mnist-small': (400, [IMAGES % ('1, 28, 28', 12800)]),
    'cifar10-resnet20': (30, [IMAGES % ('3, 32, 32', 2560), 'data.augment=[]']),
    'gpt-small': (40, ['data.dataset={text: {file: tinyshakespeare.txt, tokens: bytes, sequence: 128, stride: 32}}']),
}


def main():
    options = parsed_options()
    commit = commit_of(options.configs)
    rows = csv.writer(sys.stdout, lineterminator='\n')
    rows.writerow(['date', 'processor', 'commit', 'config', 'ranks', 'planned_ms', 'measured_ms', 'ratio'])
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent)
        write_text(folder / 'tinyshakespeare.txt', 400000)

        def call(command, name, ranks, more):
            words = [*command, *(['-n', str(ranks), '--datapar'] if ranks > 1 else []), options.configs / f'{name}.yaml',
                     '--threads', '1', *set_flags([f'data.path={folder}', *CONFIGS[name][1], *more])]
            return subprocess.run([options.trainer, *words], capture_output=True, text=True, check=True, cwd=folder,
                                  env=environment(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')).stdout

        def planned(name, ranks):
            return predicted_step_ms(call(['plan'], name, ranks, []))

        def measured(name, ranks):
            steps = CONFIGS[name][0]
            with tempfile.TemporaryDirectory() as run:
                call(['--progress', 'none', '-o', f'{run}/run'], name, ranks,
                     ['train.epochs=~', f'train.steps={steps}', 'train.evaluate=never', f'train.log_every={steps // 10}'])
                lines = [line for line in metrics_of(f'{run}/run') if line['split'] == 'train']
            return statistics.median(1e3 * (later['time'] - line['time']) / (later['step'] - line['step'])
                                     for line, later in zip(lines, lines[1:]) if later['step'] > line['step'])

        for name in CONFIGS:
            for ranks in (1, 2):
                turns = [(planned(name, ranks), measured(name, ranks)) for _ in range(options.runs)]
                plan, run = (statistics.median(column) for column in zip(*turns))
                rows.writerow([datetime.date.today(), cpu_name(), commit, name, ranks, f'{plan:.2f}', f'{run:.2f}', f'{plan / run:.2f}'])
                sys.stdout.flush()


if __name__ == '__main__':
    main()
