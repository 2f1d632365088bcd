"""rnn, lstm and gru: of several lengths, stacked, both ways, truncated, with padding."""
import torch
from torch import nn

from .layer_case import layer, named_layer


class Output(nn.Module):
    """The outputs of a recurrent module, without its last state."""

    def __init__(self, recurrent):
        super().__init__()
        self.recurrent = recurrent

    def forward(self, x):
        return self.recurrent(x)[0]


class Last(Output):
    """What each direction gives at its end."""

    def forward(self, x):
        state = self.recurrent(x)[1]
        return torch.cat(tuple(state[0] if isinstance(state, tuple) else state), dim=1)


class Truncated(Output):
    """The state resumes over all steps, the gradient only over some."""

    def __init__(self, recurrent, steps):
        super().__init__(recurrent)
        self.steps = steps

    def forward(self, x):
        state, outputs = None, []
        for part in x.split(self.steps, dim=1):
            if state is not None:
                state = tuple(h.detach() for h in state) if isinstance(state, tuple) else state.detach()
            y, state = self.recurrent(part, state)
            outputs.append(y)
        return torch.cat(outputs, dim=1)


class Padded(nn.Module):
    """A recurrent module on sequences of several lengths: all outputs, or those at each end."""

    def __init__(self, recurrent, lengths, last=False):
        super().__init__()
        self.recurrent, self.lengths, self.last = recurrent, lengths, last

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, self.lengths, batch_first=True, enforce_sorted=False)
        y, state = self.recurrent(packed)
        if self.last:
            return torch.cat(tuple(state[0] if isinstance(state, tuple) else state), dim=1)
        return nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])[0]


def one_after_the_other():
    for type, module in [('rnn', nn.RNN), ('lstm', nn.LSTM), ('gru', nn.GRU)]:
        names = {'recurrent': f'{type}1'}
        for length in [1, 2, 9]:
            layer(f'{type}_length_{length}', f'{type}: 4', Output(module(5, 4, batch_first=True)), (3, length, 5), names)
        layer(f'{type}_stacked', f'{type}: {{units: 3, layers: 2, bidirectional: true}}',
              Output(module(4, 3, num_layers=2, bidirectional=True, batch_first=True)), (2, 5, 4), names)
        layer(f'{type}_without_bias', f'{type}: {{units: 3, bias: false}}',
              Output(module(4, 3, bias=False, batch_first=True)), (2, 4, 4), names)
        layer(f'{type}_last', f'{type}: {{units: 3, bidirectional: true, output: last}}',
              Last(module(4, 3, bidirectional=True, batch_first=True)), (2, 4, 4), names)
        layer(f'{type}_truncate', f'{type}: {{units: 3, truncate: 3}}',
              Truncated(module(2, 3, batch_first=True), 3), (2, 8, 2), names)
    layer('rnn_relu', 'rnn: {units: 4, activation: relu}', Output(nn.RNN(5, 4, nonlinearity='relu', batch_first=True)),
          (3, 4, 5), {'recurrent': 'rnn1'})


def padded():
    lengths = [3, 5, 1]
    for type, module in [('rnn', nn.RNN), ('lstm', nn.LSTM), ('gru', nn.GRU)]:
        names = {'recurrent': f'{type}1'}
        layer(f'{type}_padded', f'{type}: 4', Padded(module(3, 4, batch_first=True), lengths), (3, 5, 3), names,
              lengths=lengths)
        layer(f'{type}_padded_stacked', f'{type}: {{units: 3, layers: 2, bidirectional: true}}',
              Padded(module(4, 3, num_layers=2, bidirectional=True, batch_first=True), lengths), (3, 6, 4), names,
              lengths=lengths)
        layer(f'{type}_padded_last', f'{type}: {{units: 3, bidirectional: true, output: last}}',
              Padded(module(4, 3, bidirectional=True, batch_first=True), lengths, last=True), (3, 5, 4), names,
              lengths=lengths)


def named():
    for type, arguments in [('lstm', {}), ('gru', {}), ('rnn', {})]:
        named_layer(f'{type}_length_65', f'{type}: 4',
                    lambda: Output(getattr(nn, type.upper())(5, 4, batch_first=True)), (2, 65, 5),
                    {'recurrent': f'{type}1'})
