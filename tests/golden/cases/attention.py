"""Attention: causal or not, rotary, with padding."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from .layer_case import layer, named_layer


class SelfAttention(nn.Module):
    def __init__(self, width, heads, causal, bias=True):
        super().__init__()
        self.attention, self.causal = nn.MultiheadAttention(width, heads, bias=bias, batch_first=True), causal

    def forward(self, x):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if self.causal else None
        return self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]


def rotation(length, half, base=10000.0):
    """Turns queries and keys (Su et al. 2021), in the form that pairs both halves of a head."""
    angles = torch.arange(length).double()[:, None] * base ** (-torch.arange(half).double() / half)[None, :]

    def turned(x):
        first, second = x[..., :half], x[..., half:]
        return torch.cat([first * angles.cos() - second * angles.sin(),
                          second * angles.cos() + first * angles.sin()], dim=-1)
    return turned


class RotaryAttention(SelfAttention):
    """The same with queries and keys turned."""

    def forward(self, x):
        rows, length, width = x.shape
        heads = self.attention.num_heads
        q, k, v = (part.view(rows, length, heads, -1).transpose(1, 2) for part in
                   F.linear(x, self.attention.in_proj_weight, self.attention.in_proj_bias).chunk(3, dim=-1))
        half = width // heads // 2
        turned = rotation(length, half)

        scores = turned(q) @ turned(k).transpose(-2, -1) / math.sqrt(2 * half)
        if self.causal:
            scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -math.inf)
        return self.attention.out_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(rows, length, width))


class GroupedAttention(nn.Module):
    """Heads that share keys and values (Ainslie et al. 2023): these are repeated."""

    def __init__(self, width, heads, key_heads, base):
        super().__init__()
        size = width // heads
        self.heads, self.key_heads, self.size, self.base = heads, key_heads, size, base
        self.in_proj_weight = nn.Parameter(torch.empty((heads + 2 * key_heads) * size, width))
        self.out_proj = nn.Linear(width, width, bias=False)

    def forward(self, x):
        rows, length, width = x.shape
        counts = [self.heads, self.key_heads, self.key_heads]
        q, k, v = (part.view(rows, length, count, self.size).transpose(1, 2) for part, count in
                   zip(F.linear(x, self.in_proj_weight).split([count * self.size for count in counts], -1), counts))
        turned = rotation(length, self.size // 2, self.base)
        k, v = (part.repeat_interleave(self.heads // self.key_heads, dim=1) for part in (turned(k), v))
        scores = turned(q) @ k.transpose(-2, -1) / math.sqrt(self.size)
        scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -math.inf)
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(rows, length, width))


class MaskedAttention(SelfAttention):
    """Keys behind a sequence's end are hidden; what comes out there is made zero."""

    def __init__(self, width, heads, causal, lengths):
        super().__init__(width, heads, causal)
        self.lengths = lengths

    def forward(self, x):
        padding = torch.arange(x.shape[1])[None, :] >= torch.tensor(self.lengths)[:, None]
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if self.causal else None
        y = self.attention(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0]
        return y.masked_fill(padding[:, :, None], 0)


def one_after_the_other():
    names = {'attention': 'attention1', 'attention.out_proj': 'attention1.out_proj'}
    for length in [1, 5, 70]:
        for causal in [False, True]:
            layer(f'attention_{"causal" if causal else "whole"}_{length}',
                  f'attention: {{heads: 2, causal: {str(causal).lower()}}}', SelfAttention(4, 2, causal),
                  (2, length, 4), names)
    layer('attention_without_bias', 'attention: {heads: 3, causal: true, bias: false}',
          SelfAttention(6, 3, True, bias=False), (2, 5, 6), names)
    layer('attention_rotary', 'attention: {heads: 2, causal: true, rotary: true}', RotaryAttention(8, 2, True),
          (2, 6, 8), names)


def named():
    for length, key_heads in [(5, 1), (40, 2)]:
        named_layer(f'attention_grouped_{length}', f'attention: {{heads: 4, kv_heads: {key_heads}, causal: true, rotary: '
                    'true, rotary_base: 500, bias: false}', lambda: GroupedAttention(8, 4, key_heads, 500.0),
                    (2, length, 8), {'': 'attention1', 'out_proj': 'attention1.out_proj'})


def padded():
    names = {'attention': 'attention1', 'attention.out_proj': 'attention1.out_proj'}
    for name, length, lengths in [('', 5, [3, 5, 1]), ('_long', 140, [70, 128, 1])]:
        for causal in [False, True]:
            layer(f'attention_padded_{"causal" if causal else "whole"}{name}',
                  f'attention: {{heads: 2, causal: {str(causal).lower()}}}', MaskedAttention(4, 2, causal, lengths),
                  (3, length, 4), names, lengths=lengths)
