"""Dense layers, and activations that they take in."""
from torch import nn

from .layer_case import layer, named_layer


class Adapted(nn.Module):
    """Hu et al. 2021, "LoRA", equation 3; names as in PEFT."""

    def __init__(self, inputs, outputs, rank, alpha):
        super().__init__()
        self.base = nn.Linear(inputs, outputs)
        self.base.weight.requires_grad_(False)
        self.lora_A, self.lora_B = nn.Linear(inputs, rank, bias=False), nn.Linear(rank, outputs, bias=False)
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * self.lora_B(self.lora_A(x))


def one_after_the_other():
    dense = {'': 'dense1'}
    layer('dense', 'dense: 4', nn.Linear(6, 4), (5, 6), dense)
    layer('dense_without_bias', 'dense: {units: 4, bias: false}', nn.Linear(6, 4, bias=False), (5, 6), dense)
    for function, module in [('relu', nn.ReLU), ('sigmoid', nn.Sigmoid), ('tanh', nn.Tanh)]:
        layer(f'dense_{function}', f'dense: {{units: 4, activation: {function}}}',
              nn.Sequential(nn.Linear(6, 4), module()), (5, 6), {'0': 'dense1'})
        layer(function, function, module(), (3, 2, 3, 5))
    layer('dense_on_positions', 'dense: 4', nn.Linear(3, 4), (2, 5, 3), dense)
    layer('dense_on_map', 'dense: 4', nn.Sequential(nn.Flatten(), nn.Linear(24, 4)), (3, 2, 3, 4), {'1': 'dense1'})


def named():
    named_layer('dense_with_adapter', 'dense: {units: 4, lora: {rank: 2, alpha: 3}}', lambda: Adapted(6, 4, 2, 3), (5, 6),
                {'base': 'dense1', 'lora_A': 'dense1.lora_A', 'lora_B': 'dense1.lora_B'})
    for function, module in [('silu', nn.SiLU), ('hardswish', nn.Hardswish), ('softplus', nn.Softplus), ('elu', nn.ELU), ('relu6', nn.ReLU6)]:
        named_layer(f'dense_{function}', f'dense: {{units: 4, activation: {function}}}',
                    lambda: nn.Sequential(nn.Linear(6, 4), module()), (5, 6), {'0': 'dense1'})
