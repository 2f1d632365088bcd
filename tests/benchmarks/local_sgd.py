"""Trains synchronously and by local SGD: what is learnt on one rank, bytes, time and weak efficiency of a step on several hosts.

Usage: local_sgd.py NETLAB TRAINER DATA [--workload NAME] [--method NAME ...] [--speeds] [--hosts N] [--share PERCENT] [--pairs N] [--rate R] [--delay D] [--processor NAME] [--commit NAME]
NETLAB makes hosts out of network namespaces of this machine, so root is needed, and all hosts share its cores; `share` is the percentage of
a core that each may use. DATA is a folder with the files of the workload's data set. Prints CSV. Bytes are those that the first host sends in a
step, with the headers of TCP; speed is that of the rounds or steps after the first, one thread a host. Local runs have the same
weights on any number of hosts, so what is learnt is measured on one rank, or not at all with --speeds. Efficiency: the speed over the sum of the speeds of as many
hosts, each of which trains by itself with its share of the batch and of the virtual workers. They run at once, so that hosts together
and alone share the cores of this machine in the same way. Speed and efficiency are medians of pairs of runs that take turns.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

root = pathlib.Path(__file__).resolve().parent.parent.parent


@dataclass
class Workload:
    config: str
    length: str           # of the run that learns: the config's
    split: str            # of the evaluation that counts
    quality: callable     # of its line
    batch: int
    workers: int          # virtual workers of local SGD
    steps: int            # of runs on hosts
    methods: dict         # name -> train.local without virtual_workers; none: synchronous
    settings: dict = field(default_factory=dict)   # name of a method -> other settings


def nesterov(momentum):
    return 'outer: {nesterov: {lr: 0.7, momentum: %s}}' % momentum


WORKLOADS = {
    'mnist-small': Workload('mnist-small', '5 epochs', 'test', lambda line: f"{100 * line['accuracy']:.2f} %", 128, 8, 400, {
        'synchronous': None,
        'local, 10 steps, average': 'steps: 10, outer: average',
        'local, 100 steps, average': 'steps: 100, outer: average',
        'local, 100 steps, nesterov 0.7, 0.5': 'steps: 100, ' + nesterov(0.5),
        'local, 10 steps, nesterov 0.7, 0.5': 'steps: 10, ' + nesterov(0.5)}),
    'gpt-small': Workload('gpt-small', '2,000 steps', 'valid', lambda line: f"{line['loss']:.3f}", 32, 4, 500, {
        'synchronous': None,
        'local, 125 steps, average': 'steps: 125, outer: average',
        'local, 125 steps, nesterov 0.7, 0.5': 'steps: 125, ' + nesterov(0.5),
        'local, 60 steps, average, bf16': 'steps: 60, outer: average',
        'local, 25 steps, average, one_bit': 'steps: 25, outer: average'}, {
        'local, 60 steps, average, bf16': ['train.compression=bf16'],
        'local, 25 steps, average, one_bit': ['train.compression={one_bit: {min_size: 0}}']}),
    'gpt-small, batch 128': Workload('gpt-small', '2,000 steps', 'valid', lambda line: f"{line['loss']:.3f}", 128, 4, 100, {
        'synchronous': None,
        'local, 11 steps, average, one_bit': 'steps: 11, outer: average',
        'local, 25 steps, average, one_bit': 'steps: 25, outer: average',
        'local, 64 steps, average, bf16': 'steps: 64, outer: average',
        'local, 64 steps, nesterov 0.7, 0.5, bf16': 'steps: 64, ' + nesterov(0.5)}, {
        'local, 64 steps, average, bf16': ['train.compression=bf16'],
        'local, 64 steps, nesterov 0.7, 0.5, bf16': ['train.compression=bf16'],
        'local, 11 steps, average, one_bit': ['train.compression={one_bit: {min_size: 0}}'],
        'local, 25 steps, average, one_bit': ['train.compression={one_bit: {min_size: 0}}']}),
}


def lines_of(run):
    return [json.loads(line) for line in pathlib.Path(run, 'metrics.jsonl').read_text().splitlines()]


class Bench:
    def __init__(self, options):
        self.options, self.workload = options, WORKLOADS[options.workload]
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith('OPENBLAS_')}

    def call(self, *command):
        return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, env=self.environment).stdout

    def words(self, name, folder, hosts, overrides):
        """The command of a run, with the part of the batch and of the virtual workers that so many of all hosts have."""
        method = self.workload.methods[name]
        batch, workers = (value * hosts // self.options.hosts for value in (self.workload.batch, self.workload.workers))
        local = [] if method is None else [f'train.local={{virtual_workers: {workers}, {method}}}']
        settings = [*local, *self.workload.settings.get(name, []), f'data.path={self.options.data}', f'train.batch={batch}', *overrides]
        return [self.options.trainer, str(root / 'configs' / f'{self.workload.config}.yaml'), '-q', '-o', folder,
                *(word for setting in settings for word in ('-s', setting))]

    def learnt(self, name):
        with tempfile.TemporaryDirectory() as folder:
            self.call(*self.words(name, f'{folder}/run', self.options.hosts, []))
            return self.workload.quality([line for line in lines_of(f'{folder}/run') if line.get('split') == self.workload.split][-1])

    def sent(self):
        """Bytes that the first host has sent."""
        return int(self.call(self.options.netlab, 'exec', 'h1', 'cat', '/sys/class/net/eth0/statistics/tx_bytes'))

    def alone(self, name):
        """Samples per second of all hosts, each by itself."""
        with tempfile.TemporaryDirectory() as folder:
            runs = [subprocess.Popen([str(word) for word in [
                self.options.netlab, 'exec', f'h{host}', *self.words(name, f'{folder}/{host}', 1, self.timed(self.steps(name))), '--threads', '1']],
                stdout=subprocess.DEVNULL, env=self.environment) for host in range(1, self.options.hosts + 1)]
            if any([run.wait() for run in runs]):
                raise RuntimeError('a host by itself has failed')
            return sum(self.speed(f'{folder}/{host}', 1) for host in range(1, self.options.hosts + 1))

    def together(self, name):
        """Bytes of a step and samples per second. A run of no step is taken off, so that only steps count."""
        def run(steps, folder):
            before = self.sent()
            self.call(self.options.netlab, 'run', '-n', self.options.hosts, '--',
                      *self.words(name, folder, self.options.hosts, self.timed(steps)), '--threads', '1', '--datapar')
            return self.sent() - before
        steps = self.steps(name)
        with tempfile.TemporaryDirectory() as folder:
            idle, busy = run(0, f'{folder}/idle'), run(steps, f'{folder}/run')
            return (busy - idle) / steps, self.speed(f'{folder}/run', self.options.hosts)

    def steps(self, name):
        """Whole rounds."""
        method = self.workload.methods[name]
        if method is None:
            return self.workload.steps // 10
        round_steps = int(re.search(r'steps: (\d+)', method)[1])
        return -(-self.workload.steps // round_steps) * round_steps

    @staticmethod
    def timed(steps):
        return ['train.epochs=~', f'train.steps={steps}', 'train.evaluate=never', 'train.checkpoint=never', 'train.log_every=1']

    def speed(self, run, hosts):
        lines = [line for line in lines_of(run) if line.get('split') == 'train' and 'step' in line]
        first, last = lines[0], lines[-1]
        return self.workload.batch * hosts // self.options.hosts * (last['step'] - first['step']) / (last['time'] - first['time'])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('netlab')
    parser.add_argument('trainer', type=os.path.abspath)
    parser.add_argument('data', type=os.path.abspath)
    parser.add_argument('--workload', choices=WORKLOADS, default='mnist-small')
    parser.add_argument('--method', action='append', help='of those of the workload; all without it')
    parser.add_argument('--speeds', action='store_true', help='learn nothing')
    parser.add_argument('--hosts', type=int, default=4)
    parser.add_argument('--share', type=int, default=45)
    parser.add_argument('--pairs', type=int, default=3)
    parser.add_argument('--rate', default='100mbit')
    parser.add_argument('--delay', default='1ms')
    parser.add_argument('--processor', default=platform.processor() or platform.machine())
    parser.add_argument('--commit', default='-')
    options = parser.parse_args()
    bench = Bench(options)
    if unknown := set(options.method or []) - set(bench.workload.methods):
        parser.error(f'--method: {unknown.pop()} is none of {", ".join(repr(name) for name in bench.workload.methods)}')
    about = {'date': datetime.date.today(), 'processor': options.processor, 'commit': options.commit, 'workload': options.workload,
             'length': bench.workload.length, 'hosts': options.hosts, 'share': options.share, 'rate': options.rate, 'delay': options.delay}
    table = csv.writer(sys.stdout, lineterminator='\n')
    table.writerow([*about, 'method', 'quality', 'bytes_a_step', 'samples_per_second', 'efficiency'])
    bench.call(options.netlab, 'up', options.hosts, '--rate', options.rate, '--delay', options.delay, '--cpu', options.share)
    try:
        for name in options.method or bench.workload.methods:
            pairs = [(bench.together(name), bench.alone(name)) for _ in range(options.pairs)]
            size = statistics.median(size for (size, _), _ in pairs)
            speed = statistics.median(speed for (_, speed), _ in pairs)
            efficiency = statistics.median(speed / alone for (_, speed), alone in pairs)
            table.writerow([*about.values(), name, '-' if options.speeds else bench.learnt(name), f'{size:.0f}', f'{speed:.0f}', f'{efficiency:.3f}'])
            sys.stdout.flush()
    finally:
        bench.call(options.netlab, 'down')


if __name__ == '__main__':
    main()
