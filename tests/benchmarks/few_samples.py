"""Times batches with fewer samples than threads, beside one thread, and prints results/few_samples.csv.

Usage: few_samples.py TRAINER COMMIT [--runs N] [--batch N] [--threads N] [--processor NAME] > results/few_samples.csv
A time is the shortest of N runs of 15 steps each, which take turns: with few samples a step is so short that other programs of the
machine show. Images and text are random.
"""
import argparse
import csv
import datetime
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from peers import root, write_data
from program import cpu_name, environment, set_flags

CONFIGS = {'ResNet-20': ('configs/cifar10-resnet20.yaml', []),
           'wide ResNet': ('configs/wide-resnet.yaml', []),
           'ViT': ('configs/vit-small.yaml', []),
           'GPT 4 x 128': ('configs/gpt-small.yaml', ['data.dataset.text.file=65-characters.txt', 'train.warmup.steps=1'])}


def step_ms(trainer, folder, config, settings, threads):
    done = subprocess.run([trainer, 'time', root / config, '--steps', '15', '--threads', str(threads), *set_flags(settings)], capture_output=True,
                          text=True, env=environment(TRAINER_DATA=str(folder)))
    found = re.search(r'^step +([\d.,]+)', done.stdout, re.MULTILINE)
    if not found:
        sys.exit(f'{config}: {done.stdout}{done.stderr}')
    return float(found[1].replace(',', ''))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('commit')
    parser.add_argument('--runs', type=int, default=7)
    parser.add_argument('--batch', type=int, default=1)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--processor', default=cpu_name())
    options = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator='\n')
    table.writerow(['date', 'processor', 'commit', 'network', 'batch', 'threads', 'one_thread_ms', 'threads_ms', 'speedup'])
    with tempfile.TemporaryDirectory() as folder:
        write_data(pathlib.Path(folder))
        for network, (config, settings) in CONFIGS.items():
            settings = [*settings, f'train.batch={options.batch}']
            times = [[step_ms(options.trainer.resolve(), folder, config, settings, threads) for threads in (1, options.threads)]
                     for _ in range(options.runs)]
            one, several = (min(column) for column in zip(*times))
            table.writerow([datetime.date.today(), options.processor, options.commit, network, options.batch, options.threads, f'{one:.2f}',
                            f'{several:.2f}', f'{one / several:.2f}'])
            sys.stdout.flush()


if __name__ == '__main__':
    main()
