"""Attention: causal or not, rotary, with padding."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from .layer_case import layer


class SelfAttention(nn.Module):
    def __init__(self, width, heads, causal, bias=True):
        super().__init__()
        self.attention, self.causal = nn.MultiheadAttention(width, heads, bias=bias, batch_first=True), causal

    def forward(self, x):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if self.causal else None
        return self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]


class RotaryAttention(SelfAttention):
    """The same with queries and keys turned (Su et al. 2021), in the form that pairs both halves of a head."""

    def forward(self, x):
        rows, length, width = x.shape
        heads = self.attention.num_heads
        q, k, v = (part.view(rows, length, heads, -1).transpose(1, 2) for part in
                   F.linear(x, self.attention.in_proj_weight, self.attention.in_proj_bias).chunk(3, dim=-1))
        half = width // heads // 2
        angles = torch.arange(length).double()[:, None] * 10000.0 ** (-torch.arange(half).double() / half)[None, :]

        def turned(x):
            first, second = x[..., :half], x[..., half:]
            return torch.cat([first * angles.cos() - second * angles.sin(),
                              second * angles.cos() + first * angles.sin()], dim=-1)

        scores = turned(q) @ turned(k).transpose(-2, -1) / math.sqrt(2 * half)
        if self.causal:
            scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -math.inf)
        return self.attention.out_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(rows, length, width))


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


def padded():
    names = {'attention': 'attention1', 'attention.out_proj': 'attention1.out_proj'}
    for name, length, lengths in [('', 5, [3, 5, 1]), ('_long', 140, [70, 128, 1])]:
        for causal in [False, True]:
            layer(f'attention_padded_{"causal" if causal else "whole"}{name}',
                  f'attention: {{heads: 2, causal: {str(causal).lower()}}}', MaskedAttention(4, 2, causal, lengths),
                  (3, length, 4), names, lengths=lengths)
