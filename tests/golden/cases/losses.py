"""Losses and their gradients."""
import zlib

import torch
import torch.nn.functional as F

from .golden_file import rounded, write


def loss(name, yaml, function, y, targets, **known):
    y = y.requires_grad_()
    value = function(y)
    value.backward()
    write(name, {'y': y, **targets, 'loss': value.reshape(1), 'dy': y.grad}, kind='loss', yaml=yaml, **known)


def named_loss(name, yaml, function, outputs=5, labels=None, values=None):
    """As loss(), but with values that follow from the name. The function adds up over 6 rows."""
    torch.manual_seed(zlib.crc32(name.encode()))
    y = rounded(6, outputs) * 2
    targets = {'labels': labels} if values is None else {'values': values()}
    target = labels if values is None else targets['values']
    loss(name, yaml, lambda outputs: function(outputs, target) / 6, y, targets)


def ctc(name, positions, symbols, targets, lengths=None):
    """targets: symbols from 1 on, filled up with 0. lengths: of inputs with padding."""
    torch.manual_seed(zlib.crc32(name.encode()))
    targets = torch.tensor(targets)
    rows = len(targets)
    known = {'lengths': ' '.join(map(str, lengths))} if lengths else {}
    lengths = torch.tensor(lengths or [positions] * rows)
    loss(name, 'ctc', lambda y: F.ctc_loss(y.log_softmax(-1).transpose(0, 1), targets, lengths, (targets > 0).sum(1),
                                           reduction='sum') / rows,
         rounded(rows, positions, symbols) * 2, {'values': targets}, **known)


def one_after_the_other():
    labels = torch.tensor([2, 0, 4, 4, 1, 3])
    rows, classes = len(labels), 5
    one_hot = F.one_hot(labels, classes).double()
    targets = {'labels': labels}
    loss('softmax_cross_entropy', 'softmax_cross_entropy', lambda y: F.cross_entropy(y, labels),
         rounded(rows, classes) * 4, targets)
    loss('softmax_cross_entropy_large', 'softmax_cross_entropy', lambda y: F.cross_entropy(y, labels),
         rounded(rows, classes) * 64, targets)
    logistic = lambda y: F.binary_cross_entropy_with_logits(y, one_hot, reduction='sum') / rows
    loss('sigmoid_cross_entropy', 'sigmoid_cross_entropy', logistic, rounded(rows, classes) * 4, targets)
    loss('sigmoid_cross_entropy_large', 'sigmoid_cross_entropy', logistic, rounded(rows, classes) * 64, targets)
    loss('mse', 'mse', lambda y: F.mse_loss(y, one_hot), rounded(rows, classes), targets)
    values = rounded(rows, 3)
    loss('mse_of_numbers', 'mse', lambda y: F.mse_loss(y, values), rounded(rows, 3), {'values': values})


def named():
    labels = torch.tensor([2, 0, 4, 4, 1, 3])
    weights = torch.tensor([1, 0.5, 2, 3, 0.25]).double()
    named_loss('softmax_cross_entropy_smoothing', 'softmax_cross_entropy: {smoothing: 0.1}',
               lambda y, t: F.cross_entropy(y, t, label_smoothing=0.1, reduction='sum'), labels=labels)
    named_loss('softmax_cross_entropy_weights', 'softmax_cross_entropy: {class_weights: [1, 0.5, 2, 3, 0.25]}',
               lambda y, t: 6 * F.cross_entropy(y, t, weights), labels=labels)
    named_loss('softmax_cross_entropy_both',
               'softmax_cross_entropy: {smoothing: 0.3, class_weights: [1, 0.5, 2, 3, 0.25]}',
               lambda y, t: 6 * F.cross_entropy(y, t, weights, label_smoothing=0.3), labels=labels)
    named_loss('huber', 'huber: 0.7', lambda y, t: F.huber_loss(y, t, delta=0.7, reduction='sum') / 5,
               values=lambda: rounded(6, 5))
    named_loss('cosine', 'cosine', lambda y, t: (1 - F.cosine_similarity(y, t)).sum(), values=lambda: rounded(6, 5))
    named_loss('sigmoid_cross_entropy_multi_label', 'sigmoid_cross_entropy',
               lambda y, t: F.binary_cross_entropy_with_logits(y, t, reduction='sum'),
               values=lambda: (rounded(6, 5) > 0).double())
    ctc('ctc', 7, 4, [[1, 2, 3], [2, 2, 0], [1, 0, 0], [0, 0, 0], [3, 3, 3]])
    ctc('ctc_tight', 3, 3, [[1, 2, 1], [1, 1, 0], [2, 0, 0]])
    ctc('ctc_padded', 9, 4, [[1, 2, 3], [2, 2, 0], [1, 0, 0], [0, 0, 0], [3, 3, 3]], lengths=[9, 3, 1, 4, 5])
    torch.manual_seed(zlib.crc32(b'contrastive'))
    same = torch.tensor([1, 0, 0, 1, 0, 1])
    pairs = rounded(6, 8)

    def pulled(y):
        """The formula of Hadsell, Chopra and LeCun 2006; PyTorch has none for pairs of this kind."""
        distance = F.pairwise_distance(y[:, :4], y[:, 4:], eps=0)
        return (same * distance ** 2 / 2 + (1 - same) * F.relu(3 - distance) ** 2 / 2).mean()
    loss('contrastive', 'contrastive: 3', pulled, pairs, {'labels': same}, classes='2')
