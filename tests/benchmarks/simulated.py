"""Scaling of resnet50 to many hosts: the forecast of the program beside a simulation with SimGrid.

Usage: simulated.py TRAINER SIMULATED_STEP [--rate GFLOPS] [--hosts N...] [--links LINK...] [--flows N] [--jobs N] [--processor NAME] [--commit NAME]
One rank a host. Weak scaling: 32 images a rank; strong scaling: 8,192 images together. GFLOPS is the speed of all cores of
a host together, over a whole step. Prints CSV. Nothing is trained: `trainer plan --json` shows what a rank computes and sends, and
`simulated_step.cpp` lets SimGrid find out how long the messages take.
"""
import argparse
import csv
import datetime
import json
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from program import cpu_name, set_flags

root = pathlib.Path(__file__).resolve().parent.parent.parent
BATCHES = {'weak': 32, 'strong': 8192}
DATA = ['data.dataset={synthetic: {shape: [3, 224, 224], classes: 1000, train: 65536, test: 8}}', 'data.augment=[]', 'data.path=~']


def output(*command, given=None):
    done = subprocess.run([str(word) for word in command], input=given, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def simulate(options, scaling, link, hosts):
    batch = BATCHES[scaling] * (hosts if scaling == 'weak' else 1)
    plan = output(options.trainer, 'plan', root / 'configs/resnet50.yaml', '-n', hosts, '--datapar', '--threads', 1, '--link', link,
                  '--rate', options.rate, '--json', *set_flags([*DATA, f'train.batch={batch}']))
    times = json.loads(output(options.simulated_step, options.flows, given=plan))
    predicted = json.loads(plan)['predicted']
    if options.parts:
        print(scaling, link, hosts, {part: (round(1e3 * predicted.get(part, 0), 2), round(1e3 * time, 2)) for part, time in times.items()}, file=sys.stderr)
    return batch, predicted['step'], times['step']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer')
    parser.add_argument('simulated_step')
    parser.add_argument('--rate', type=float, default=1600, metavar='GFLOPS')
    parser.add_argument('--hosts', type=int, nargs='+', default=[2**power for power in range(11)])
    parser.add_argument('--links', nargs='+', default=['10Gbps,2us', '100Gbps,2us'])
    parser.add_argument('--scalings', nargs='+', default=list(BATCHES), choices=list(BATCHES))
    parser.add_argument('--flows', type=int, default=1, help='of a host at a time; each stands for as many hosts as needed')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--parts', action='store_true', help='show the parts of each step, predicted and simulated, in ms')
    parser.add_argument('--processor', default=cpu_name())
    parser.add_argument('--commit', default='-')
    options = parser.parse_args()
    cells = [(scaling, link, hosts) for scaling in options.scalings for link in options.links for hosts in options.hosts]
    about = [datetime.date.today(), options.processor, options.commit, f'{options.rate:g}']
    table = csv.writer(sys.stdout)
    table.writerow(['date', 'processor', 'commit', 'gflops', 'scaling', 'link', 'hosts', 'batch', 'forecast_ms', 'simulated_ms', 'ratio',
                    'forecast_efficiency', 'simulated_efficiency'])
    with ThreadPoolExecutor(options.jobs) as pool:
        for (scaling, link, hosts), (batch, forecast, simulated) in zip(cells, pool.map(lambda cell: simulate(options, *cell), cells)):
            if hosts == 1:
                one = {'forecast': forecast / batch, 'simulated': simulated / batch}
            efficiencies = [one[name] * batch / hosts / time for name, time in (('forecast', forecast), ('simulated', simulated))] if options.hosts[0] == 1 else [0, 0]
            table.writerow([*about, scaling, link, hosts, batch, f'{1e3 * forecast:.2f}', f'{1e3 * simulated:.2f}', f'{forecast / simulated:.3f}',
                            *(f'{efficiency:.3f}' for efficiency in efficiencies)])
            sys.stdout.flush()


if __name__ == '__main__':
    main()
