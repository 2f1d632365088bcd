"""What several benchmarks need to start the program and to read what it writes."""
import argparse
import json
import os
import pathlib
import re
import subprocess


def parsed_options():
    """The command line of a benchmark: the program, the folder of its configs, and how often each is run."""
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('configs', type=pathlib.Path)
    parser.add_argument('--runs', type=int, default=3)
    options = parser.parse_args()
    options.trainer, options.configs = options.trainer.resolve(), options.configs.resolve()
    return options


def cpu_name():
    names = re.findall(r'^model name\s*: (.*)$', pathlib.Path('/proc/cpuinfo').read_text(), re.MULTILINE)
    return names[0] if names else os.uname().machine


def commit_of(folder):
    """The short name of the commit that a folder of the project is at."""
    return subprocess.run(['git', '-C', folder, 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True, check=True).stdout.strip()


def environment(**more):
    """That of this process, without a user's choice of slower kernels of OpenBLAS."""
    return {name: value for name, value in os.environ.items() if not name.startswith('OPENBLAS_')} | more


def set_flags(settings):
    """['train.steps=4'] -> ['-s', 'train.steps=4']"""
    return [word for setting in settings for word in ('-s', setting)]


def write_text(file, characters):
    """A made-up text, the same each time."""
    file.write_text(''.join(chr(32 + i * i % 91) for i in range(characters)))


def metrics_of(run):
    """The lines of metrics.jsonl of a run directory."""
    return [json.loads(line) for line in pathlib.Path(run, 'metrics.jsonl').read_text().splitlines()]


def predicted_step_ms(plan):
    """The time of a step in what `trainer plan` prints."""
    value, unit = re.search(r'^predicted step +([\d.,]+) (\w+)', plan, re.MULTILINE).groups()
    return float(value.replace(',', '')) * {'us': 1e-3, 'ms': 1, 's': 1e3}[unit]
