"""Memory and time of what keeps fewer activations: `train.activations: bf16`, and `recompute` around the layers of blocks.

Usage: activations.py TRAINER CONFIGS [--runs N] > results/activations.csv
Memory is that of `trainer summary` (activations of one thread); time is the least mean step of N runs of `trainer time` in turns, on
one thread. Data is made up, and its path must not exist.
"""
import csv
import datetime
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from program import commit_of, cpu_name, parsed_options, set_flags, write_text

IMAGES = 'data.dataset={synthetic: {shape: [3, %d, %d], classes: 1000, train: 64, test: 4}}'
TEXT = 'data.dataset={text: {file: tinyshakespeare.txt, tokens: bytes, sequence: 128, stride: 32}}'
# Name -> (settings of the summary, those of the time).
WORKLOADS = {
    'resnet50': (['train.batch=32', IMAGES % (224, 224)], ['train.batch=8', IMAGES % (112, 112)]),
    'gpt-small': ([TEXT], ['train.batch=8', TEXT]),
}
STORED = 'train.activations=bf16'
# Name -> (the config's file, a setting).
MODES = {'as it is': ('plain.yaml', 'train.activations=float32'), 'activations: bf16': ('plain.yaml', STORED),
         'recompute': ('recompute.yaml', 'train.activations=float32'), 'both': ('recompute.yaml', STORED)}


def recomputed(text):
    """The layers of each block inside a recompute."""
    lines, inside = [], False
    for line in text.splitlines():
        if inside and len(line) - len(line.lstrip()) < 6:
            inside = False
        lines.append('    ' + line if inside else line)
        if line == '    layers:':
            lines.append('      - recompute:')
            inside = True
    return '\n'.join(lines) + '\n'


def main():
    options = parsed_options()
    commit = commit_of(options.configs)
    rows = csv.writer(sys.stdout, lineterminator='\n')
    rows.writerow(['date', 'processor', 'commit', 'config', 'rows', 'mode', 'activations', 'step_ms', 'ratio'])
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent)
        write_text(folder / 'tinyshakespeare.txt', 40000)

        def ask(command, config, settings):
            words = [options.trainer, command, config, '--threads', '1', '-s', f'data.path={folder}']
            if command == 'time':
                words += ['--steps', '2' if 'train.batch=8' in settings and name == 'resnet50' else '20']
            return subprocess.run([*words, *set_flags(settings)], cwd=folder, capture_output=True, text=True, check=True).stdout

        for name, (for_memory, for_time) in WORKLOADS.items():
            plain = (options.configs / f'{name}.yaml').read_text()
            (folder / 'plain.yaml').write_text(plain)
            (folder / 'recompute.yaml').write_text(recomputed(plain))
            times = {mode: [] for mode in MODES}
            for _ in range(options.runs):
                for mode, (file, setting) in MODES.items():
                    step = re.search(r'^step +([\d.]+)', ask('time', file, [*for_time, setting]), re.MULTILINE)[1]
                    times[mode].append(float(step))
            for mode, (file, setting) in MODES.items():
                memory, count = re.search(r'activations and scratch +(\S+ \S+)  \((\d+) rows',
                                          ask('summary', file, [*for_memory, setting])).groups()
                best = min(times[mode])
                rows.writerow([datetime.date.today(), cpu_name(), commit, name, count, mode, memory, f'{best:.1f}',
                               f'{best / min(times["as it is"]):.2f}'])
            sys.stdout.flush()


if __name__ == '__main__':
    main()
