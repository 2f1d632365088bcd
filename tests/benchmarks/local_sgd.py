"""Trains mnist-small synchronously and by local SGD: test accuracy on one rank, bytes and time of a step on several hosts.

Usage: local_sgd.py NETLAB TRAINER MNIST [--epochs N] [--hosts N] [--rate R] [--delay D] [--steps N] [--processor NAME] [--commit NAME]
NETLAB makes hosts out of network namespaces of this machine, so root is needed, and all hosts share its cores. MNIST is a folder with
its files. Prints CSV. Bytes are those that the first host sends in a step, with the headers of TCP; speed is the median over the rounds or
steps after the first, one thread a host. Local runs have the same weights on any number of hosts, so accuracy is measured on one rank.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIG = str(root / 'configs' / 'mnist-small.yaml')
NESTEROV = 'outer: {nesterov: {lr: %s, momentum: %s}}'
METHODS = {
    'synchronous': [],
    'local, 10 steps, average': ['train.local={steps: 10, outer: average}'],
    'local, 100 steps, average': ['train.local={steps: 100, outer: average}'],
    'local, 100 steps, nesterov 0.7, 0.5': ['train.local={steps: 100, %s}' % NESTEROV % (0.7, 0.5)],
    'local, 10 steps, nesterov 0.7, 0.5': ['train.local={steps: 10, %s}' % NESTEROV % (0.7, 0.5)],
}


def lines_of(run):
    return [json.loads(line) for line in pathlib.Path(run, 'metrics.jsonl').read_text().splitlines()]


def flags(overrides):
    return [word for override in overrides for word in ('-s', override)]


def accuracy(options, overrides):
    """Of the test samples, after the last epoch, in percent."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.trainer, CONFIG, '-q', '-o', f'{folder}/run',
                        *flags([*overrides, f'data.path={options.mnist}', f'train.epochs={options.epochs}'])],
                       check=True, stdout=subprocess.DEVNULL)
        return 100 * [line for line in lines_of(f'{folder}/run') if line.get('split') == 'test'][-1]['accuracy']


def sent(options):
    """Bytes that the first host has sent."""
    done = subprocess.run([options.netlab, 'exec', 'h1', 'cat', '/sys/class/net/eth0/statistics/tx_bytes'], check=True,
                          capture_output=True, text=True)
    return int(done.stdout)


def on_hosts(options, overrides):
    """Bytes of a step and images per second. A run of no step is taken off, so that only steps count."""
    def run(steps, folder):
        before = sent(options)
        subprocess.run([options.netlab, 'run', '-n', str(options.hosts), '--', options.trainer, '--datapar', CONFIG, '-q', '--threads', '1', '-o', folder,
                        *flags([*overrides, f'data.path={options.mnist}', 'train.epochs=~', f'train.steps={steps}', 'train.evaluate=never',
                                'train.checkpoint=never', 'train.log_every=1'])], check=True, stdout=subprocess.DEVNULL)
        return sent(options) - before
    with tempfile.TemporaryDirectory() as folder:
        idle, busy = run(0, f'{folder}/idle'), run(options.steps, f'{folder}/run')
        lines = [line for line in lines_of(f'{folder}/run') if line.get('split') == 'train' and 'step' in line]
    first, last = lines[0], lines[-1]
    return (busy - idle) / options.steps, 128 * (last['step'] - first['step']) / (last['time'] - first['time'])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('netlab')
    parser.add_argument('trainer', type=os.path.abspath)
    parser.add_argument('mnist', type=os.path.abspath)
    parser.add_argument('--epochs', type=int, default=5)
    parser.add_argument('--hosts', type=int, default=4)
    parser.add_argument('--rate', default='100mbit')
    parser.add_argument('--delay', default='1ms')
    parser.add_argument('--steps', type=int, default=400)
    parser.add_argument('--processor', default=platform.processor() or platform.machine())
    parser.add_argument('--commit', default='-')
    options = parser.parse_args()
    about = {'date': datetime.date.today(), 'processor': options.processor, 'commit': options.commit, 'epochs': options.epochs,
             'hosts': options.hosts, 'rate': options.rate, 'delay': options.delay}
    table = csv.writer(sys.stdout)
    table.writerow([*about, 'method', 'accuracy', 'bytes_a_step', 'images_per_second'])
    subprocess.run([options.netlab, 'up', str(options.hosts), '--rate', options.rate, '--delay', options.delay], check=True,
                   stdout=subprocess.DEVNULL)
    try:
        for name, overrides in METHODS.items():
            size, speed = on_hosts(options, overrides)
            table.writerow([*about.values(), name, f'{accuracy(options, overrides):.2f}', f'{size:.0f}', f'{speed:.0f}'])
            sys.stdout.flush()
    finally:
        subprocess.run([options.netlab, 'down'], stdout=subprocess.DEVNULL)


if __name__ == '__main__':
    main()
