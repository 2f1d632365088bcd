"""What TCP takes by itself: plain sockets carry the bytes of a step of hosts.py between hosts.

Usage: plain_tcp.py NETLAB TRAINER [--rate R] [--delay D] [--hosts N...] [--steps N] [--commit NAME] > results/plain_tcp.csv
Each host sends to the next one what it sends in a step, gradients and parameters in float32, and receives as much. Prints CSV:
milliseconds of a step, those of processor time that the process of each host takes, the kernel's part of it, and those in which the
program computes the rows of one of the hosts by itself.
"""
import argparse
import csv
import datetime
import os
import re
import resource
import socket
import statistics
import sys
import threading
import time

sys.dont_write_bytecode = True
from hosts import WORKLOADS, lab, launch, processor_time
from program import cpu_name

PORT = 29600


def connected(rank, hosts):
    """Sockets to the next host and from the one before."""
    listener = socket.create_server((f'10.77.0.{rank + 1}', PORT))
    deadline = time.monotonic() + 20
    while True:
        try:
            to = socket.create_connection((f'10.77.0.{(rank + 1) % hosts + 1}', PORT))
            return to, listener.accept()[0]
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def exchange(rank, hosts, count, steps):
    to, source = connected(rank, hosts)
    sent, received = bytes(count), bytearray(count)
    arrived = threading.Semaphore(0)

    def send():
        for _ in range(steps):
            to.sendall(sent)
            arrived.acquire()

    sender = threading.Thread(target=send)
    before, begin = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    sender.start()
    for _ in range(steps):
        room = memoryview(received)
        while room:
            room = room[source.recv_into(room, 0, socket.MSG_WAITALL):]
        arrived.release()
    sender.join()
    after, seconds = resource.getrusage(resource.RUSAGE_SELF), time.monotonic() - begin
    system = after.ru_stime - before.ru_stime
    figures = ' '.join(f'{1000 * value / steps:.3f}' for value in (seconds, after.ru_utime - before.ru_utime + system, system))
    os.write(sys.stdout.fileno(), f'\nexchanged {figures}\n'.encode())  # one write: hosts share the output


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('netlab')
    parser.add_argument('trainer', type=os.path.abspath)
    parser.add_argument('--rate', default='1gbit')
    parser.add_argument('--delay', default='0.1ms')
    parser.add_argument('--hosts', type=int, nargs='+', default=[2, 4])
    parser.add_argument('--steps', type=int, default=300, help='of the smallest workload; larger ones make fewer')
    parser.add_argument('--processor', default=cpu_name())
    parser.add_argument('--commit', default='-')
    options = parser.parse_args()
    options.set = []
    table = csv.writer(sys.stdout, lineterminator='\n')
    table.writerow(['date', 'processor', 'commit', 'rate', 'delay', 'workload', 'hosts', 'ms', 'processor_ms', 'kernel_ms', 'computing_ms'])
    for hosts in options.hosts:
        lab(options, 'up', str(hosts), '--rate', options.rate, '--delay', options.delay)
        try:
            for workload in (workload for workload in WORKLOADS if not workload.is_weak):
                count = 2 * (hosts - 1) * 4 * workload.parameters // hosts
                steps = max(3, options.steps * 1_000_000 // count)
                output = launch(options, hosts, sys.executable, os.path.abspath(__file__), '--exchange', str(hosts), str(count), str(steps))
                lines = [[float(value) for value in line.split()] for line in re.findall(r'^exchanged (.*)$', output, re.MULTILINE)]
                computing = 1000 * processor_time(options, workload, 1, workload.batch // hosts)
                table.writerow([datetime.date.today(), options.processor, options.commit, options.rate, options.delay, workload.name, hosts,
                                *(f'{statistics.mean(values):.2f}' for values in zip(*lines)), f'{computing:.2f}'])
                sys.stdout.flush()
        finally:
            lab(options, 'down')


if __name__ == '__main__':
    if sys.argv[1:2] == ['--exchange']:
        exchange(int(os.environ['OMPI_COMM_WORLD_RANK']), *map(int, sys.argv[2:]))
    else:
        main()
