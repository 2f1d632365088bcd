"""The PyTorch side of peers.py: trains a workload on random data in memory and prints one line of JSON.

Usage: torch_training.py WORKLOAD [--threads N] [--ranks N] [--channels-last] [--seconds S]
Without PyTorch it ends with 77. Ranks are processes of one thread that sum gradients through gloo and share the batch.
"""
import argparse
import json
import os
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit(77)

BATCH, CLASSES, BATCHES = 128, 10, 16
WARM_UP_SECONDS, WARM_UP_STEPS = 1.0, 5


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


def mlp(*widths):
    layers = []
    for inputs, units in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, units), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


def convnet():
    return nn.Sequential(
        nn.Conv2d(1, 16, 5), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(inplace=True),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 500), nn.ReLU(inplace=True), nn.Linear(500, CLASSES))


MODELS = {'a': (lambda: mlp(784, 100, CLASSES), (784,)),
          'b': (lambda: mlp(784, 1024, 1024, CLASSES), (784,)),
          'c': (convnet, (1, 28, 28)),
          'd': (resnet20, (3, 32, 32))}


def train(workload, options, rank):
    """Images/s of this rank, by the clock and by processor time."""
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    make_model, sample = MODELS[workload]
    model, rows = make_model(), BATCH // options.ranks
    memory_format = torch.channels_last if options.channels_last else torch.contiguous_format
    if options.channels_last:
        model = model.to(memory_format=memory_format)
    batches = [(torch.rand(rows, *sample).to(memory_format=memory_format), torch.randint(CLASSES, (rows,)))
               for _ in range(BATCHES)]
    network = nn.parallel.DistributedDataParallel(model) if options.ranks > 1 else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def steps(count):
        for step in range(count):
            x, labels = batches[step % BATCHES]
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(network(x), labels).backward()
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

    steps(WARM_UP_STEPS)
    pace = seconds_of(WARM_UP_STEPS)[0] / WARM_UP_STEPS
    steps(agreed(max(1, int(WARM_UP_SECONDS / pace))))
    pace = seconds_of(WARM_UP_STEPS)[0] / WARM_UP_STEPS
    count = agreed(max(WARM_UP_STEPS, int(options.seconds / pace)))
    wall, processor = seconds_of(count)
    if rank == 0:
        print(json.dumps({'images_per_second': count * BATCH / wall,
                          'images_per_processor_second': count * BATCH / processor}))


def train_as_rank(rank, workload, options):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    torch.distributed.init_process_group('gloo', init_method=f'file://{options.meeting}', rank=rank,
                                         world_size=options.ranks)
    train(workload, options, rank)
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('workload', choices=sorted(MODELS))
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--ranks', type=int, default=1)
    parser.add_argument('--channels-last', action='store_true')
    parser.add_argument('--seconds', type=float, default=2.0)
    parser.add_argument('--meeting', help='a file that does not exist yet, where ranks find each other')
    options = parser.parse_args()
    if options.ranks == 1:
        return train(options.workload, options, 0)
    os.environ['GLOO_SOCKET_IFNAME'] = 'lo'
    return torch.multiprocessing.spawn(train_as_rank, (options.workload, options), options.ranks)


if __name__ == '__main__':
    main()
