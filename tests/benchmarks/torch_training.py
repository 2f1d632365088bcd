"""The PyTorch side of peers.py: trains a workload on random data in memory and prints one line of JSON.

Usage: torch_training.py WORKLOAD [--threads N] [--ranks N | --join HOST:PORT] [--channels-last] [--compile] [--seconds S]
Without PyTorch it ends with 77. Ranks are processes of one thread that sum gradients through gloo and share the batch.
With --join, this process is one rank of a job of Open MPI's launcher, whose first host is HOST.
"""
import argparse
import json
import os
import sys
import time
from dataclasses import dataclass

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit(77)

CLASSES, BATCHES = 10, 16
WARM_UP_SECONDS = 1.0


class BasicBlock(nn.Module):
    """Two convolutions beside a shortcut that is strided and padded with zero channels."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.stride, self.extra = stride, filters - channels
        self.body = nn.Sequential(
            nn.Conv2d(channels, filters, 3, stride, padding=1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(inplace=True),
            nn.Conv2d(filters, filters, 3, padding=1, bias=False), nn.BatchNorm2d(filters))

    def forward(self, x):
        shortcut = x
        if self.extra:
            shortcut = nn.functional.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, 0, self.extra))
        return torch.relu(self.body(x) + shortcut)


def resnet20():
    layers = [nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    channels = 16
    for filters in (16, 32, 64):
        for index in range(3):
            layers.append(BasicBlock(channels, filters, 2 if index == 0 and filters > 16 else 1))
            channels = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES))


class Bottleneck(nn.Module):
    """1x1, 3x3 with the stride, 1x1 convolutions beside a shortcut that is a 1x1 convolution where the shape changes."""

    def __init__(self, channels, narrow, stride):
        super().__init__()
        wide = 4 * narrow
        self.body = nn.Sequential(
            nn.Conv2d(channels, narrow, 1, bias=False), nn.BatchNorm2d(narrow), nn.ReLU(inplace=True),
            nn.Conv2d(narrow, narrow, 3, stride, padding=1, bias=False), nn.BatchNorm2d(narrow), nn.ReLU(inplace=True),
            nn.Conv2d(narrow, wide, 1, bias=False), nn.BatchNorm2d(wide))
        self.shortcut = nn.Identity() if channels == wide else nn.Sequential(
            nn.Conv2d(channels, wide, 1, stride, bias=False), nn.BatchNorm2d(wide))

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet50(classes):
    layers = [nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for narrow, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for index in range(count):
            layers.append(Bottleneck(channels, narrow, 2 if index == 0 and narrow > 64 else 1))
            channels = 4 * narrow
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


def mlp(*widths):
    layers = []
    for inputs, units in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, units), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


def convnet():
    return nn.Sequential(
        nn.Conv2d(1, 16, 5), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(inplace=True),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 500), nn.ReLU(inplace=True), nn.Linear(500, CLASSES))


class CharacterModel(nn.Module):
    """One LSTM layer between an embedding and a guess at the next character."""

    def __init__(self, characters, units):
        super().__init__()
        self.tokens, self.output = nn.Embedding(characters, units), nn.Linear(units, characters)
        self.recurrent = nn.LSTM(units, units, batch_first=True)

    def forward(self, x):
        return self.output(self.recurrent(self.tokens(x))[0])


class Norm(nn.Module):
    """Layer normalisation without a bias."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return nn.functional.layer_norm(x, self.weight.shape, self.weight)


class Decoder(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([Norm(width), Norm(width)])
        self.inwards, self.outwards = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.wide = nn.Sequential(nn.Linear(width, 4 * width, bias=False), nn.GELU(),
                                  nn.Linear(4 * width, width, bias=False))
        # No buffer: gloo cannot send booleans to the other ranks.
        self.hidden = torch.ones(length, length, dtype=torch.bool).triu(1)

    def attend(self, x):
        rows, length, width = x.shape
        queries, keys, values = (part.view(rows, length, self.heads, width // self.heads).transpose(1, 2)
                                 for part in self.inwards(x).split(width, dim=2))
        scores = queries @ keys.transpose(-2, -1) * (width // self.heads) ** -0.5
        shares = scores.masked_fill(self.hidden, float('-inf')).softmax(-1)
        return self.outwards((shares @ values).transpose(1, 2).reshape(rows, length, width))

    def forward(self, x):
        x = x + self.attend(self.norms[0](x))
        return x + self.wide(self.norms[1](x))


class Gpt(nn.Module):
    def __init__(self, characters, length, width=128, heads=4, layers=4):
        super().__init__()
        self.tokens, self.places = nn.Embedding(characters, width), nn.Embedding(length, width)
        self.body = nn.Sequential(*[Decoder(width, heads, length) for _ in range(layers)], Norm(width))
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, x):
        x = self.body(self.tokens(x) + self.places(torch.arange(x.shape[1])))
        return nn.functional.linear(x, self.tokens.weight)


@dataclass
class Workload:
    make: object
    sample: tuple       # shape of one, (tokens,) of a text
    batch: int = 128
    characters: int = 0  # of a text
    warm_up: int = 5     # steps


WORKLOADS = {'a': Workload(lambda: mlp(784, 100, CLASSES), (784,)),
             'b': Workload(lambda: mlp(784, 1024, 1024, CLASSES), (784,)),
             'c': Workload(convnet, (1, 28, 28)),
             'd': Workload(resnet20, (3, 32, 32)),
             'e': Workload(lambda: CharacterModel(96, 128), (50,), 64, 96),
             'f': Workload(lambda: Gpt(65, 64), (64,), 12, 65),
             'g': Workload(lambda: resnet50(1000), (3, 224, 224), 16, warm_up=1),
             'h': Workload(lambda: mlp(784, 4096, 4096, 4096, 4096, CLASSES), (784,), warm_up=2)}


def random_batch(workload, rows, memory_format):
    if workload.characters:
        return tuple(torch.randint(workload.characters, (rows, *workload.sample)) for _ in range(2))
    return (torch.rand(rows, *workload.sample).to(memory_format=memory_format), torch.randint(CLASSES, (rows,)))


def train(workload, options, rank):
    """Images/s, of a text tokens/s, by the clock and by processor time."""
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    # Random data lets momentum decay to subnormal numbers, which many processors compute with slowly; the program
    # takes them for zero, too.
    torch.set_flush_denormal(True)
    workload = WORKLOADS[workload]
    model, rows = workload.make(), workload.batch // options.ranks
    memory_format = torch.channels_last if options.channels_last else torch.contiguous_format
    if options.channels_last:
        model = model.to(memory_format=memory_format)
    batches = [random_batch(workload, rows, memory_format) for _ in range(BATCHES)]
    network = nn.parallel.DistributedDataParallel(model) if options.ranks > 1 else model
    if options.compile:
        network = torch.compile(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def steps(count):
        for step in range(count):
            x, labels = batches[step % BATCHES]
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(network(x).flatten(0, -2), labels.flatten()).backward()
            optimizer.step()

    def seconds_of(count):
        if options.ranks > 1:
            torch.distributed.barrier()
        wall, processor = time.perf_counter(), time.process_time()
        steps(count)
        if options.ranks > 1:
            torch.distributed.barrier()
        return time.perf_counter() - wall, time.process_time() - processor

    def agreed(count):
        """The same number of steps on all ranks: rank 0's."""
        if options.ranks == 1:
            return count
        number = torch.tensor([count])
        torch.distributed.broadcast(number, 0)
        return int(number)

    steps(workload.warm_up)
    pace = seconds_of(workload.warm_up)[0] / workload.warm_up
    steps(agreed(max(1, int(WARM_UP_SECONDS / pace))))
    pace = seconds_of(workload.warm_up)[0] / workload.warm_up
    count = agreed(max(workload.warm_up, int(options.seconds / pace)))
    wall, processor = seconds_of(count)
    if rank == 0:
        done = count * workload.batch * (workload.sample[0] if workload.characters else 1)
        print(json.dumps({'per_second': done / wall, 'per_processor_second': done / processor}))


def train_as_rank(rank, workload, options):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    torch.distributed.init_process_group('gloo', init_method=f'file://{options.meeting}', rank=rank,
                                         world_size=options.ranks)
    train(workload, options, rank)
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('workload', choices=sorted(WORKLOADS))
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--ranks', type=int, default=1)
    parser.add_argument('--channels-last', action='store_true')
    parser.add_argument('--compile', action='store_true')
    parser.add_argument('--seconds', type=float, default=2.0)
    parser.add_argument('--join', metavar='HOST:PORT')
    parser.add_argument('--meeting', help='a file that does not exist yet, where ranks find each other')
    options = parser.parse_args()
    if options.join:
        options.ranks, rank = (int(os.environ[f'OMPI_COMM_WORLD_{name}']) for name in ('SIZE', 'RANK'))
        torch.distributed.init_process_group('gloo', init_method=f'tcp://{options.join}', rank=rank,
                                             world_size=options.ranks)
        train(options.workload, options, rank)
        return torch.distributed.destroy_process_group()
    if options.ranks == 1:
        return train(options.workload, options, 0)
    os.environ['GLOO_SOCKET_IFNAME'] = 'lo'
    return torch.multiprocessing.spawn(train_as_rank, (options.workload, options), options.ranks)


if __name__ == '__main__':
    main()
