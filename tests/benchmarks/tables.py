"""The error of configs/diamonds.yaml beside xgboost and scikit-learn on the same rows, as they are and with cells emptied at random.

Usage: tables.py TRAINER CONFIGS DIAMONDS.csv > results/tables.csv
Needs python3-xgboost and python3-sklearn. DIAMONDS.csv is ggplot2's table (r-cran-ggplot2):
    Rscript -e 'write.csv(ggplot2::diamonds, "diamonds.csv", row.names = FALSE)'
A fifth of the rows is the test set. Cells of inputs are emptied in the training rows (`train`), or in all (`all`), in five draws.
The others get one column for each text, a missing one too; xgboost gets missing numbers as they are, scikit-learn their means,
standardised, and the target standardised. All have their defaults, one thread, seed 1.
"""
import argparse
import csv
import datetime
import itertools
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

os.environ.update(OMP_NUM_THREADS='1', OPENBLAS_NUM_THREADS='1')
sys.dont_write_bytecode = True
import numpy
import xgboost
from peers import cpu_name
from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

TARGET = 'price'
DRAWS = 5


def emptied(rows, share, target, seed):
    draw = random.Random(seed)
    return [['' if i != target and draw.random() < share else field for i, field in enumerate(row)] for row in rows]


def encoded(train, test, target):
    """Numbers as they are, NaN if missing; a column for each text of the training rows."""
    def is_text(column):
        return any(row[column][:1].isalpha() for row in train)

    def columns(rows):
        for i in range(len(train[0])):
            if i == target:
                continue
            if is_text(i):
                for text in sorted({row[i] for row in train}):
                    yield [float(row[i] == text) for row in rows]
            else:
                yield [float(row[i] or 'nan') for row in rows]

    def values(rows):
        return numpy.array(list(columns(rows))).T, numpy.array([float(row[target]) for row in rows])
    return *values(train), *values(test)


def write(path, head, rows):
    with path.open('w', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows([head, *rows])


def trainer_error(options, folder, head, train, test):
    write(folder / 'train.csv', head, train)
    write(folder / 'test.csv', head, test)
    command = [options.trainer.resolve(), options.configs.resolve() / 'diamonds.yaml', '--threads', '1', '-q', '-o', folder / 'run', '-s',
               f'data.path={folder}', '-s', 'data.dataset.csv.train=train.csv', '-s', 'data.dataset.csv.test=test.csv',
               '-s', 'data.validation=0', '--progress', 'json']
    subprocess.run(command, check=True, capture_output=True, text=True)
    out = subprocess.run([options.trainer.resolve(), 'predict', folder / 'run/checkpoints/last', folder / 'test.csv', '--csv'],
                         check=True, capture_output=True, text=True).stdout
    return numpy.array([float(row[2]) for row in list(csv.reader(out.splitlines()))[1:]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('configs', type=pathlib.Path)
    parser.add_argument('diamonds', type=pathlib.Path)
    options = parser.parse_args()
    commit = subprocess.run(['git', '-C', options.configs, 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True,
                            check=True).stdout.strip()
    head, *rows = list(csv.reader(options.diamonds.open()))
    random.Random(1).shuffle(rows)
    test, train = rows[:len(rows) // 5], rows[len(rows) // 5:]
    target = head.index(TARGET)
    out = csv.writer(sys.stdout, lineterminator='\n')
    out.writerow(['date', 'processor', 'commit', 'table', 'emptied', 'draw', 'program', 'rmse', 'seconds'])
    truth = numpy.array([float(row[target]) for row in test])
    for kind, draw in [('none', 1), *itertools.product(['5 % of train', '5 % of all'], range(1, DRAWS + 1))]:
        own_train = train if kind == 'none' else emptied(train, 0.05, target, 2 * draw)
        own_test = emptied(test, 0.05, target, 2 * draw + 1) if kind == '5 % of all' else test
        x, y, test_x, _ = encoded(own_train, own_test, target)

        def report(program, predict):
            begin = time.monotonic()
            error = numpy.sqrt(numpy.mean((predict() - truth) ** 2))
            out.writerow([datetime.date.today(), cpu_name(), commit, 'diamonds', kind, draw, program, f'{error:.1f}',
                          f'{time.monotonic() - begin:.1f}'])
            sys.stdout.flush()

        with tempfile.TemporaryDirectory() as folder:
            report('trainer', lambda: trainer_error(options, pathlib.Path(folder), head, own_train, own_test))
        report(f'xgboost {xgboost.__version__}',
               lambda: xgboost.XGBRegressor(n_jobs=1, random_state=1).fit(x, y).predict(test_x))
        means = numpy.nanmean(x, 0)
        scaler = StandardScaler().fit(numpy.where(numpy.isnan(x), means, x))

        def filled(values):
            return scaler.transform(numpy.where(numpy.isnan(values), means, values))
        model = TransformedTargetRegressor(MLPRegressor(random_state=1), transformer=StandardScaler())
        report('scikit-learn MLP', lambda: model.fit(filled(x), y).predict(filled(test_x)))


main()
