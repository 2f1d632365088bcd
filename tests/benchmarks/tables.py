"""The error on tables beside xgboost and scikit-learn's MLP on the same rows, which no program is trained on.

Usage: tables.py TRAINER CONFIGS [DIAMONDS.csv] > results/tables.csv
Needs python3-xgboost and python3-sklearn. All have their defaults, one thread, seed 1. A fifth of the rows is the test set.

Sets of scikit-learn: digits, wine and diabetes in five draws of the test set. trainer has the config that `trainer new table`
prints for the training rows, xgboost the numbers as they are, scikit-learn standardised ones.

With DIAMONDS.csv, also configs/diamonds.yaml. It is ggplot2's table (r-cran-ggplot2):
    Rscript -e 'write.csv(ggplot2::diamonds, "diamonds.csv", row.names = FALSE)'
Cells of inputs are emptied in the training rows (`train`), or in all (`all`), in five draws. The others get one column for each
text, a missing one too; xgboost gets missing numbers as they are, scikit-learn their means, standardised, and the target
standardised.
"""
import argparse
import csv
import datetime
import itertools
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

os.environ.update(OMP_NUM_THREADS='1', OPENBLAS_NUM_THREADS='1')
sys.dont_write_bytecode = True
import numpy
import xgboost
from program import commit_of, cpu_name
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

TARGET = 'price'
SETS = {'digits': load_digits, 'wine': load_wine, 'diabetes': load_diabetes}
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


def predictions(options, folder, config, target, head, train, test):
    """Those of a run for the rows of a test set; config: its text, or None for that of `trainer new table`."""
    def run(*arguments):
        return subprocess.run([options.trainer.resolve(), *arguments], check=True, capture_output=True, text=True).stdout
    write(folder / 'train.csv', head, train)
    write(folder / 'test.csv', head, test)
    (folder / 'config.yaml').write_text(config or run('new', 'table', folder / 'train.csv'))
    run(folder / 'config.yaml', '--threads', '1', '-q', '-o', folder / 'run', '-s', f'data.path={folder}', '-s',
        'data.dataset.csv.train=train.csv', '-s', 'data.dataset.csv.test=test.csv', '-s', f'data.dataset.csv.target={target}', '-s',
        'data.validation=0', '--progress', 'json')
    out = run('predict', folder / 'run/checkpoints/last', folder / 'test.csv', '--csv')
    return [row[2] for row in list(csv.reader(out.splitlines()))[1:]]


class Report:
    """The rows of results/tables.csv."""

    def __init__(self, commit):
        self.commit = commit
        self.out = csv.writer(sys.stdout, lineterminator='\n')
        self.out.writerow(['date', 'processor', 'commit', 'table', 'emptied', 'draw', 'program', 'measure', 'score', 'seconds'])

    def add(self, cell, program, truth, predict):
        begin = time.monotonic()
        predicted = predict()
        if truth.dtype.kind == 'f':
            measure, score = 'RMSE', numpy.sqrt(numpy.mean((numpy.array(predicted, float) - truth) ** 2))
        else:
            measure, score = 'accuracy, %', 100 * numpy.mean(numpy.array(predicted) == truth)
        self.out.writerow([datetime.date.today(), cpu_name(), self.commit, *cell, program, measure, f'{score:.1f}',
                           f'{time.monotonic() - begin:.1f}'])
        sys.stdout.flush()


def compare_set(options, report, name):
    data = SETS[name](as_frame=False)
    classes = name != 'diabetes'
    for draw in range(1, DRAWS + 1):
        order = list(range(len(data.data)))
        random.Random(draw).shuffle(order)
        test, train = order[:len(order) // 5], order[len(order) // 5:]
        (x, y), (test_x, truth) = ((data.data[rows], data.target[rows]) for rows in (train, test))

        def texts(inputs, targets):
            return [[*map(float, row), f'class{target}' if classes else target] for row, target in zip(inputs, targets)]

        def own():
            head = [*(f'x{i}' for i in range(x.shape[1])), 'target']
            with tempfile.TemporaryDirectory() as folder:
                predicted = predictions(options, pathlib.Path(folder), None, 'target', head, texts(x, y), texts(test_x, truth))
            return [int(text.removeprefix('class')) for text in predicted] if classes else predicted
        cell = name, 'none', draw
        report.add(cell, 'trainer', truth, own)
        boosted = (xgboost.XGBClassifier if classes else xgboost.XGBRegressor)(n_jobs=1, random_state=1)
        report.add(cell, f'xgboost {xgboost.__version__}', truth, lambda: boosted.fit(x, y).predict(test_x))
        network = MLPClassifier(random_state=1) if classes else TransformedTargetRegressor(MLPRegressor(random_state=1),
                                                                                             transformer=StandardScaler())
        report.add(cell, 'scikit-learn MLP', truth, lambda: make_pipeline(StandardScaler(), network).fit(x, y).predict(test_x))


def compare_diamonds(options, report):
    head, *rows = list(csv.reader(options.diamonds.open()))
    random.Random(1).shuffle(rows)
    test, train = rows[:len(rows) // 5], rows[len(rows) // 5:]
    target = head.index(TARGET)
    config = (options.configs / 'diamonds.yaml').read_text()
    truth = numpy.array([float(row[target]) for row in test])
    for kind, draw in [('none', 1), *itertools.product(['5 % of train', '5 % of all'], range(1, DRAWS + 1))]:
        own_train = train if kind == 'none' else emptied(train, 0.05, target, 2 * draw)
        own_test = emptied(test, 0.05, target, 2 * draw + 1) if kind == '5 % of all' else test
        x, y, test_x, _ = encoded(own_train, own_test, target)
        cell = 'diamonds', kind, draw
        with tempfile.TemporaryDirectory() as folder:
            report.add(cell, 'trainer', truth,
                       lambda: predictions(options, pathlib.Path(folder), config, TARGET, head, own_train, own_test))
        report.add(cell, f'xgboost {xgboost.__version__}', truth,
                   lambda: xgboost.XGBRegressor(n_jobs=1, random_state=1).fit(x, y).predict(test_x))
        means = numpy.nanmean(x, 0)
        scaler = StandardScaler().fit(numpy.where(numpy.isnan(x), means, x))

        def filled(values):
            return scaler.transform(numpy.where(numpy.isnan(values), means, values))
        model = TransformedTargetRegressor(MLPRegressor(random_state=1), transformer=StandardScaler())
        report.add(cell, 'scikit-learn MLP', truth, lambda: model.fit(filled(x), y).predict(filled(test_x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('configs', type=pathlib.Path)
    parser.add_argument('diamonds', type=pathlib.Path, nargs='?')
    options = parser.parse_args()
    report = Report(commit_of(options.configs))
    if options.diamonds:
        compare_diamonds(options, report)
    for name in SETS:
        compare_set(options, report, name)


main()
