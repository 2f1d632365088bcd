"""GPT-2 (Radford et al. 2019), Llama (Touvron et al. 2023) and ResNet (He et al. 2015) in numpy, in the precision of their weights,
which have the names of Hugging Face's files without the prefix. For huggingface.py.
"""
import numpy


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v):
    """Of (heads, positions, size), causal; heads of k and v are repeated."""
    k, v = (numpy.repeat(part, q.shape[0] // part.shape[0], axis=0) for part in (k, v))
    scores = q @ k.transpose(0, 2, 1) / q.shape[-1] ** 0.5
    scores[:, numpy.triu(numpy.ones(scores.shape[1:], bool), 1)] = -numpy.inf
    return numpy.concatenate(list(softmax(scores) @ v), axis=-1)


def heads_of(x, count):
    return x.reshape(x.shape[0], count, -1).transpose(1, 0, 2)


def gpt2(w, config, ids):
    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / numpy.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * w[name + '.weight'] + w[name + '.bias']

    def conv1d(x, name):
        return x @ w[name + '.weight'] + w[name + '.bias']

    x = w['wte.weight'][ids] + w['wpe.weight'][:len(ids)]
    for i in range(config['n_layer']):
        block = f'h.{i}.'
        parts = numpy.split(conv1d(norm(x, block + 'ln_1'), block + 'attn.c_attn'), 3, axis=-1)
        x = x + conv1d(attention(*(heads_of(part, config['n_head']) for part in parts)), block + 'attn.c_proj')
        inner = conv1d(norm(x, block + 'ln_2'), block + 'mlp.c_fc')
        inner = inner * (1 + numpy.tanh((2 / numpy.pi) ** 0.5 * (inner + 0.044715 * inner ** 3))) / 2
        x = x + conv1d(inner, block + 'mlp.c_proj')
    return norm(x, 'ln_f') @ w['wte.weight'].T


def llama(w, config, ids):
    heads, key_heads = config['num_attention_heads'], config['num_key_value_heads']
    size = config['hidden_size'] // heads
    base = config.get('rope_theta') or config.get('rope_parameters', {}).get('rope_theta', 10000.0)
    angles = numpy.arange(len(ids))[:, None] / base ** (numpy.arange(0, size, 2) / size)
    angles = numpy.concatenate([angles, angles], axis=-1)

    def norm(x, name):
        return x / numpy.sqrt((x ** 2).mean(-1, keepdims=True) + config.get('rms_norm_eps', 1e-6)) * w[name + '.weight']

    def turned(x):
        return x * numpy.cos(angles) + numpy.concatenate([-x[..., size // 2:], x[..., :size // 2]], -1) * numpy.sin(angles)

    x = w['embed_tokens.weight'][ids]
    for i in range(config['num_hidden_layers']):
        own, mlp = f'layers.{i}.self_attn.', f'layers.{i}.mlp.'
        h = norm(x, f'layers.{i}.input_layernorm')
        q, k, v = (heads_of(h @ w[f'{own}{name}_proj.weight'].T, count)
                   for name, count in (('q', heads), ('k', key_heads), ('v', key_heads)))
        x = x + attention(turned(q), turned(k), v) @ w[own + 'o_proj.weight'].T
        h = norm(x, f'layers.{i}.post_attention_layernorm')
        gate = h @ w[mlp + 'gate_proj.weight'].T
        x = x + (gate / (1 + numpy.exp(-gate)) * (h @ w[mlp + 'up_proj.weight'].T)) @ w[mlp + 'down_proj.weight'].T
    return norm(x, 'norm') @ w['embed_tokens.weight' if config.get('tie_word_embeddings') else 'lm_head.weight'].T


def residuals(config):
    """Of each residual of a ResNet (He et al. 2015): its name, channels before and behind, stride, and the filters, kernel and
    stride of its convolutions."""
    before = config['embedding_size']
    for stage, (width, depth) in enumerate(zip(config['hidden_sizes'], config['depths'])):
        for layer in range(depth):
            stride = 2 if layer == 0 and (stage > 0 or config['downsample_in_first_stage']) else 1
            outer, inner = (stride, 1) if config['downsample_in_bottleneck'] else (1, stride)
            convs = [(width // 4, 1, outer), (width // 4, 3, inner), (width, 1, 1)]
            if config['layer_type'] == 'basic':
                convs = [(width, 3, stride), (width, 3, 1)]
            yield f'encoder.stages.{stage}.layers.{layer}.', before, width, stride, convs
            before = width


def windows(x, size, stride, fill):
    x = numpy.pad(x, ((0, 0), (0, 0), (size // 2,) * 2, (size // 2,) * 2), constant_values=fill)
    return numpy.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))[:, :, ::stride, ::stride]


def resnet(w, config, x):
    """Of (images, channels, height, width)."""
    def conv(x, name, stride):
        kernel, norm = w[name + '.convolution.weight'], name + '.normalization.'
        y = numpy.einsum('nchwij,ocij->nohw', windows(x, kernel.shape[2], stride, 0), kernel, optimize=True)
        factor = w[norm + 'weight'] / numpy.sqrt(w[norm + 'running_var'] + 1e-5)
        return y * factor[:, None, None] + (w[norm + 'bias'] - w[norm + 'running_mean'] * factor)[:, None, None]

    x = numpy.maximum(conv(x, 'embedder.embedder', 2), 0)
    x = windows(x, 3, 2, -numpy.inf).max((4, 5))
    for name, before, width, stride, convs in residuals(config):
        y = x
        for i, (_, _, one) in enumerate(convs):
            y = conv(numpy.maximum(y, 0) if i else y, f'{name}layer.{i}', one)
        x = numpy.maximum(y + (conv(x, name + 'shortcut', stride) if stride != 1 or before != width else x), 0)
    return x.mean((2, 3)) @ w['classifier.1.weight'].T + w['classifier.1.bias']
