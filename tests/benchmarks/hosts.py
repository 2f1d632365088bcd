"""Trains over several hosts with the program, with another build of it, and with PyTorch's DDP over gloo, by turns.

Usage: hosts.py NETLAB TRAINER [--before TRAINER CONFIGS] [--runs N] [--rate R] [--delay D]
       [--pytorch PROGRAM]... [--processor NAME] [--commit NAME] [--hosts N...] [--shares PERCENT...] [--workloads cdhr]
       [--set KEY=VALUE]
NETLAB makes hosts out of network namespaces of this machine, so root is needed, and all hosts share its cores. Prints
CSV: medians of the processed images per second, one thread a host, without evaluation. Of several versions of PyTorch
the fastest counts. `share` is the percentage of a core that each host may use; 100: all hosts share the cores freely.
Bound: bytes of gradients and parameters over the rate. `cpu_ratio`: processor time of a step of all hosts over that of
as many hosts that compute the same rows and do not communicate.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

sys.dont_write_bytecode = True
from program import cpu_name, environment, metrics_of, set_flags

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
ADDRESS = '10.77.0.1:29500'


@dataclass
class Workload:
    name: str
    config: str          # in the folder of configs
    letter: str          # of torch_training.py
    parameters: int
    steps: int           # the first are not counted
    overrides: tuple = ()
    batch: int = 128
    is_weak: bool = False  # the batch is that of one host; PyTorch takes no part

    def batch_of(self, hosts):
        return self.batch * hosts if self.is_weak else self.batch


IMAGES = 'data.dataset={synthetic: {shape: [%s], classes: 10, train: 12800, test: 128}}'
WORKLOADS = [
    Workload('mnist-small', 'mnist-small.yaml', 'c', 274758, 300, (IMAGES % '1, 28, 28',)),
    Workload('cifar10-resnet20', 'cifar10-resnet20.yaml', 'd', 270410, 20,
             (IMAGES % '3, 32, 32', 'data.augment=[]')),
    Workload('MLP 784, 4 x 4096, 10', str(here / 'mlp-hosts.yaml'), 'h', 53600266, 10, (IMAGES % '1, 28, 28',)),
    Workload('resnet50', 'resnet50.yaml', 'r', 25557032, 6,
             ('data.dataset={synthetic: {shape: [3, 224, 224], classes: 1000, train: 640, test: 8}}', 'data.augment=[]', 'data.path=~'), 16, True),
]


def lab(options, *command):
    subprocess.run([options.netlab, *command], check=True, stdout=subprocess.DEVNULL)


def launch(options, hosts, *command):
    more = {'GLOO_SOCKET_IFNAME': 'eth0', 'OMP_NUM_THREADS': '1', 'USE_LIBUV': '0'}  # Debian's PyTorch has no libuv
    done = subprocess.run([options.netlab, 'run', '-n', str(hosts), *(part for name in more for part in ('-x', name)), '--', *command],
                          env=environment(**more), capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f'{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout


def train(options, trainer, configs, workload, hosts, folder, steps, batch):
    """Trains in folder/run, and returns the processor seconds of all ranks."""
    overrides = set_flags([*workload.overrides, *options.set, f'train.batch={batch}', 'train.epochs=~', f'train.steps={steps}',
                           'train.evaluate=never', f'train.log_every={warm_up(workload)}'])
    launch(options, hosts, 'bash', '-c', '"$@"; code=$?; times >"$0.$OMPI_COMM_WORLD_RANK"; exit $code', f'{folder}/times',
           trainer, *(['--datapar'] if hosts > 1 else []), str(configs / workload.config), '--threads', '1', '--progress', 'none', '-o', f'{folder}/run', *overrides)
    of_children = [path.read_text().splitlines()[1] for path in pathlib.Path(folder).glob('times.*')]
    return sum(60 * float(minutes) + float(seconds) for line in of_children for minutes, seconds in re.findall(r'(\d+)m([\d.]+)s', line))


def warm_up(workload):
    return max(2, workload.steps // 10)


def speed_of_program(options, trainer, configs, workload, hosts):
    with tempfile.TemporaryDirectory() as folder:
        train(options, trainer, configs, workload, hosts, folder, workload.steps, workload.batch_of(hosts))
        lines = [line for line in metrics_of(f'{folder}/run') if line.get('split') == 'train' and 'step' in line]
    first, last = lines[0], lines[-2]  # the last step also waits for all parameters
    return workload.batch_of(hosts) * (last['step'] - first['step']) / (last['time'] - first['time'])


def processor_time(options, workload, hosts, batch):
    """Seconds that a step takes on all hosts. Start-up is taken away; it takes as long as some steps, so many are made."""
    few, many = warm_up(workload), 4 * workload.steps
    seconds = []
    for steps in (few, many):
        with tempfile.TemporaryDirectory() as folder:
            seconds.append(train(options, options.trainer, root / 'configs', workload, hosts, folder, steps, batch))
    return (seconds[1] - seconds[0]) / (many - few)


def speed_of_pytorch(options, python, workload, hosts):
    output = launch(options, hosts, python, str(here / 'torch_training.py'), workload.letter, '--join', ADDRESS, '--seconds', '5')
    return json.loads(re.search(r'^\{.*\}$', output, re.MULTILINE).group())['per_second']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('netlab')
    parser.add_argument('trainer', type=os.path.abspath)
    parser.add_argument('--before', nargs=2, metavar=('TRAINER', 'CONFIGS'), type=os.path.abspath)
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--rate', default='1gbit')
    parser.add_argument('--delay', default='0.1ms')
    parser.add_argument('--pytorch', action='append', metavar='PROGRAM', help='a Python that has PyTorch')
    parser.add_argument('--processor', default=cpu_name())
    parser.add_argument('--commit', default='-')
    parser.add_argument('--hosts', type=int, nargs='+', default=[1, 2, 4])
    parser.add_argument('--shares', type=int, nargs='+', default=[100, 45])
    parser.add_argument('--workloads', default='cdh')
    parser.add_argument('--set', action='append', default=[], metavar='KEY=VALUE', help='for the program: train.compression=bf16')
    options = parser.parse_args()
    programs = {'trainer': lambda *run: speed_of_program(options, options.trainer, root / 'configs', *run),
                'pytorch': lambda *run: max(speed_of_pytorch(options, python, *run) for python in options.pytorch or ['/usr/bin/python3'])}
    if options.before:
        before, configs = options.before
        programs['before'] = lambda *run: speed_of_program(options, before, pathlib.Path(configs), *run)
    rate = float(options.rate.removesuffix('gbit')) * 1e9 / 8
    table = csv.writer(sys.stdout)
    about = {'date': datetime.date.today(), 'processor': options.processor, 'commit': options.commit, 'rate': options.rate,
             'delay': options.delay}
    table.writerow([*about, 'workload', 'hosts', 'share', 'bound_ms', *programs, 'ms', 'ratio', 'cpu_ratio'])
    for hosts in options.hosts:
        for share in options.shares:
            lab(options, 'up', str(max(hosts, 2)), '--rate', options.rate, '--delay', options.delay, *(['--cpu', str(share)] if share < 100 else []))
            try:
                for workload in (workload for workload in WORKLOADS if workload.letter in options.workloads):
                    speeds = {name: [] for name in programs}
                    for _ in range(options.runs):
                        for name, speed in programs.items():
                            if not workload.is_weak or name != 'pytorch':
                                speeds[name].append(speed(workload, hosts))
                    medians = {name: statistics.median(values) if values else None for name, values in speeds.items()}
                    bound = 2 * (hosts - 1) / hosts * 4 * workload.parameters / rate
                    batch = workload.batch_of(hosts)
                    cpu = None if workload.is_weak else (processor_time(options, workload, hosts, batch)
                                                         / (hosts * processor_time(options, workload, 1, batch // hosts)))
                    table.writerow([*about.values(), workload.name, hosts, share, f'{1000 * bound:.1f}',
                                    *('' if value is None else f'{value:.{0 if value > 100 else 2}f}' for value in medians.values()),
                                    f"{1000 * batch / medians['trainer']:.1f}", '' if medians['pytorch'] is None else f"{medians['trainer'] / medians['pytorch']:.2f}",
                                    '' if cpu is None else f'{cpu:.2f}'])
                    sys.stdout.flush()
            finally:
                lab(options, 'down')


if __name__ == '__main__':
    main()
