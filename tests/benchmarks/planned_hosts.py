"""Time of a step over several hosts: what `trainer plan` predicts from the link that `trainer info` measures, and what a run then takes.

Usage: planned_hosts.py NETLAB TRAINER [--runs N] [--rate R] [--delay D] [--hosts N...] [--shares PERCENT...] [--workloads cdh] > results/planned_hosts.csv
Hosts and workloads are those of hosts.py. All hosts of a run compute at a time, so all plan at a time; the slowest plan counts.
Plans and runs take turns; figures are medians, also each figure of the link.
"""
import argparse
import csv
import datetime
import os
import re
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
from hosts import WORKLOADS, lab, launch, root, speed_of_program
from program import cpu_name, environment, predicted_step_ms, set_flags


def measured_link(options, hosts):
    links = [re.search(r'--link (\S+)', launch(options, hosts, options.trainer, 'info')).group(1).split(',') for _ in range(options.runs)]
    units = [figure.lstrip('0123456789.') for figure in links[0]]
    return ','.join(f'{statistics.median(float(link[part].removesuffix(unit)) for link in links):.0f}{unit}' for part, unit in enumerate(units))


def planned(options, workload, hosts, link):
    command = [options.trainer, 'plan', str(root / 'configs' / workload.config), '--datapar', '-n', str(hosts), '--threads', '1',
               '--link', link, *set_flags([*workload.overrides, f'train.batch={workload.batch_of(hosts)}'])]
    plans = [subprocess.Popen([options.netlab, 'exec', f'h{host + 1}', *command], stdout=subprocess.PIPE, text=True, env=environment())
             for host in range(hosts)]
    return max(predicted_step_ms(plan.communicate()[0]) for plan in plans)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('netlab')
    parser.add_argument('trainer', type=os.path.abspath)
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--rate', default='1gbit')
    parser.add_argument('--delay', default='0.1ms')
    parser.add_argument('--hosts', type=int, nargs='+', default=[2, 4])
    parser.add_argument('--shares', type=int, nargs='+', default=[100, 45])
    parser.add_argument('--workloads', default='cdh')
    parser.add_argument('--commit', default='-')
    options = parser.parse_args()
    options.set = []
    table = csv.writer(sys.stdout, lineterminator='\n')
    table.writerow(['date', 'processor', 'commit', 'rate', 'delay', 'workload', 'hosts', 'share', 'link', 'planned_ms', 'measured_ms', 'ratio'])
    for hosts in options.hosts:
        for share in options.shares:
            lab(options, 'up', str(hosts), '--rate', options.rate, '--delay', options.delay, *(['--cpu', str(share)] if share < 100 else []))
            try:
                link = measured_link(options, hosts)
                for workload in (workload for workload in WORKLOADS if workload.letter in options.workloads):
                    turns = [(planned(options, workload, hosts, link),
                              1e3 * workload.batch_of(hosts) / speed_of_program(options, options.trainer, root / 'configs', workload, hosts))
                             for _ in range(options.runs)]
                    plan, run = (statistics.median(column) for column in zip(*turns))
                    table.writerow([datetime.date.today(), cpu_name(), options.commit, options.rate, options.delay, workload.name, hosts, share, link,
                                    f'{plan:.2f}', f'{run:.2f}', f'{plan / run:.2f}'])
                    sys.stdout.flush()
            finally:
                lab(options, 'down')


if __name__ == '__main__':
    main()
