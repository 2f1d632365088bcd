"""What scikit-learn (Debian 12's python3-sklearn) counts."""
import math

import torch
import torch.nn.functional as F
from sklearn import metrics as judge

from .golden_file import rounded, write


def metric(name, yaml, y, value, labels=None, values=None):
    """The value in all its digits, as text."""
    write(f'metric_{name}', {'y': y} | ({'values': values} if labels is None else {'labels': labels}), kind='metric',
          yaml=yaml, value=repr(float(value)))


def all_metrics():
    """scikit-learn's values (Debian 12's python3-sklearn), of outputs that are right more often than chance."""
    rows, classes = 120, 5
    labels = torch.randint(classes, (rows,))
    y = (rounded(rows, classes) + 2 * F.one_hot(labels, classes)).float().double()
    predicted, shares = y.argmax(1), y.softmax(1)
    loss = judge.log_loss(labels, shares)
    metric('accuracy', 'accuracy', y, judge.accuracy_score(labels, predicted), labels)
    metric('misclassified', 'misclassified', y, judge.zero_one_loss(labels, predicted), labels)
    metric('top_k', 'top_k: 2', y, judge.top_k_accuracy_score(labels, shares, k=2), labels)
    metric('f1', 'f1', y, judge.f1_score(labels, predicted, average='macro'), labels)
    metric('f1_class', 'f1: 3', y, judge.f1_score(labels == 3, predicted == 3), labels)
    metric('confusion', 'confusion', y, judge.balanced_accuracy_score(labels, predicted), labels)
    metric('log_loss', 'log_loss', y, loss, labels)
    metric('perplexity', 'perplexity', y, math.exp(loss), labels)
    metric('bits_per_character', 'bits_per_character', y, loss / math.log(2), labels)
    odds = (y[:, 3] - y[:, [0, 1, 2, 4]].logsumexp(1)).float()
    metric('auc_class', 'auc: 3', y, judge.roc_auc_score(labels == 3, odds), labels)

    # Scores of few different sizes, so that many are level.
    labels = torch.randint(2, (rows,))
    y = ((rounded(rows, 2) + F.one_hot(labels, 2)) * 2).round() / 2
    metric('auc_level', 'auc', y, judge.roc_auc_score(labels, y[:, 1] - y[:, 0]), labels)
    there = (rounded(rows, 3) > 0.5).double()
    y = ((rounded(rows, 3) + there) * 4).round() / 4 + 0.125
    metric('auc_numbers', 'auc: 2', y, judge.roc_auc_score(there[:, 2], y[:, 2]), values=there)
    metric('label_accuracy', 'label_accuracy', y, 1 - judge.hamming_loss(there, y > 0), values=there)
    metric('f1_labels', 'f1', y, judge.f1_score(there, y > 0, average='macro'), values=there)

    values = rounded(rows, 3)
    y = (values + rounded(rows, 3) / 2).float().double()
    metric('mae', 'mae', y, judge.mean_absolute_error(values, y), values=values)
    metric('r2', 'r2', y, judge.r2_score(values, y), values=values)
