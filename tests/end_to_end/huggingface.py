"""Brings GPT-2, Llama and ResNet in from directories of Hugging Face, trains them further and writes them out again. The
logits of each are compared with the published architectures, computed here in double precision; and, with another Python,
with transformers. What is written for llama.cpp is compared with that, tensor by tensor.

Usage: huggingface.py TRAINER [--models DIR] [--keep DIR]
       huggingface.py --make DIR           (where transformers is: random models, DIR/NAME)
       huggingface.py --transformers DIR   (where transformers is: checks what --keep has written)
       huggingface.py --llama DIR          (where llama-completion of llama.cpp is: the same)

Ends with 77 where numpy is missing. --models takes the directories that --make has written instead of own random ones.
"""
import argparse
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError as missing:
    print(f'skipped: {missing}')
    sys.exit(77)
from huggingface_files import read_gguf, read_safetensors, write_safetensors
from huggingface_networks import gpt2, llama, residuals, resnet, softmax

VOCABULARY, WIDTH, HEADS, BLOCKS, LENGTH, ROWS, GREEDY = 260, 32, 4, 2, 24, 8, 20
COMMON = {'vocab_size': VOCABULARY, 'bos_token_id': None, 'eos_token_id': None}
LLAMA = COMMON | {'model_type': 'llama', 'hidden_size': WIDTH, 'num_hidden_layers': BLOCKS, 'num_attention_heads': HEADS,
                  'intermediate_size': 88, 'max_position_embeddings': 64}
CONFIGS = {
    'gpt2': COMMON | {'model_type': 'gpt2', 'n_embd': WIDTH, 'n_layer': BLOCKS, 'n_head': HEADS, 'n_positions': 64},
    'llama': LLAMA | {'num_key_value_heads': 2, 'rope_theta': 500000.0, 'rms_norm_eps': 1e-5},
    'llama-tied': LLAMA | {'num_key_value_heads': HEADS, 'tie_word_embeddings': True},
}
SIDE, CLASSES, MEAN, DEVIATION = 40, 5, [0.5, 0.4, 0.3], [0.2, 0.25, 0.3]
RESNET = {'model_type': 'resnet', 'num_channels': 3, 'embedding_size': 8, 'downsample_in_first_stage': False,
          'downsample_in_bottleneck': False, 'id2label': {str(i): f'LABEL_{i}' for i in range(CLASSES)}}
RESNETS = {
    'resnet-basic': RESNET | {'layer_type': 'basic', 'hidden_sizes': [8, 12, 20], 'depths': [2, 1, 2]},
    'resnet-bottleneck': RESNET | {'layer_type': 'bottleneck', 'hidden_sizes': [16, 24], 'depths': [2, 2]},
    'resnet-strided': RESNET | {'layer_type': 'bottleneck', 'hidden_sizes': [18, 24], 'depths': [1, 2],
                                'downsample_in_first_stage': True, 'downsample_in_bottleneck': True},
}
TEXT = 'the old farmer sees the river\nthe young sailor finds a tower every morning\n' * 30
CHARACTERS = 'Grüße,  Welt!\n\tJa: “naïve” 漢字 e\u0301\r\n\n <unk> "a\\b"\n' * 40
PROMPT = 'the old sailor'
PIECES = 'llama-sentencepiece'


def random_resnet(config):
    draw, tensors = numpy.random.default_rng(len(config['layer_type'])), {}

    def add(name, filters, channels, kernel):
        place = f'resnet.{name}.normalization.'
        tensors[f'resnet.{name}.convolution.weight'] = draw.standard_normal((filters, channels, kernel, kernel)) / (channels * kernel ** 2 / 2) ** 0.5
        tensors.update({place + 'weight': draw.uniform(0.5, 1, filters), place + 'bias': draw.uniform(-0.2, 0.2, filters),
                        place + 'running_mean': draw.uniform(-0.2, 0.2, filters), place + 'running_var': draw.uniform(0.5, 1.5, filters)})

    add('embedder.embedder', config['embedding_size'], config['num_channels'], 7)
    for name, before, width, stride, convs in residuals(config):
        for i, (filters, kernel, _) in enumerate(convs):
            add(f'{name}layer.{i}', filters, convs[i - 1][0] if i else before, kernel)
        if stride != 1 or before != width:
            add(name + 'shortcut', width, before, 1)
    tensors |= {'classifier.1.weight': draw.standard_normal((CLASSES, config['hidden_sizes'][-1])), 'classifier.1.bias': draw.uniform(-1, 1, CLASSES)}
    return {name: values.astype(numpy.float32) for name, values in tensors.items()}


def resnet_layers(config):
    """As a configuration has them."""
    def conv(filters, kernel, stride):
        return [{'conv': {'filters': filters, 'kernel': kernel, 'stride': stride, 'pad': kernel // 2, 'bias': False}}, 'batch_norm']

    layers = [*conv(config['embedding_size'], 7, 2), 'relu', {'max_pool': {'size': 3, 'stride': 2, 'pad': 1}}]
    for _, before, width, stride, convs in residuals(config):
        body = [layer for i, one in enumerate(convs) for layer in (['relu'] if i else []) + conv(*one)]
        shortcut = conv(width, 1, stride) if stride != 1 or before != width else 'identity'
        layers += [{'residual': {'body': body, 'shortcut': shortcut}}, 'relu']
    return [*layers, 'global_avg_pool', {'dense': CLASSES}]


def random_weights(name):
    """Tensors of a model of CONFIGS."""
    draw = numpy.random.default_rng(len(name))
    config, shapes = CONFIGS[name], {}
    if name == 'gpt2':
        shapes |= {'wte.weight': (VOCABULARY, WIDTH), 'wpe.weight': (64, WIDTH)}
        for i in range(BLOCKS):
            for layer, shape in (('attn.c_attn', (WIDTH, 3 * WIDTH)), ('attn.c_proj', (WIDTH, WIDTH)),
                                 ('mlp.c_fc', (WIDTH, 4 * WIDTH)), ('mlp.c_proj', (4 * WIDTH, WIDTH))):
                shapes |= {f'h.{i}.{layer}.weight': shape, f'h.{i}.{layer}.bias': shape[1:]}
            for norm in ('ln_1', 'ln_2'):
                shapes |= {f'h.{i}.{norm}.weight': (WIDTH,), f'h.{i}.{norm}.bias': (WIDTH,)}
        shapes |= {'ln_f.weight': (WIDTH,), 'ln_f.bias': (WIDTH,)}
        prefix = 'transformer.'
    else:
        keys, inner = config['num_key_value_heads'] * WIDTH // HEADS, config['intermediate_size']
        shapes['embed_tokens.weight'] = (VOCABULARY, WIDTH)
        for i in range(BLOCKS):
            for layer, shape in (('self_attn.q_proj', (WIDTH, WIDTH)), ('self_attn.k_proj', (keys, WIDTH)),
                                 ('self_attn.v_proj', (keys, WIDTH)), ('self_attn.o_proj', (WIDTH, WIDTH)),
                                 ('mlp.gate_proj', (inner, WIDTH)), ('mlp.up_proj', (inner, WIDTH)),
                                 ('mlp.down_proj', (WIDTH, inner)), ('input_layernorm', (WIDTH,)),
                                 ('post_attention_layernorm', (WIDTH,))):
                shapes[f'layers.{i}.{layer}.weight'] = shape
        shapes['norm.weight'] = (WIDTH,)
        prefix = 'model.'
    tensors = {prefix + key: (draw.standard_normal(shape) * 0.3).astype(numpy.float32) for key, shape in shapes.items()}
    if name == 'llama':
        tensors['lm_head.weight'] = (draw.standard_normal((VOCABULARY, WIDTH)) * 0.3).astype(numpy.float32)
    return tensors


def check_gguf(path, directory):
    """The tensors of a directory: those of Conv1D turned, rows of queries and keys in the order of llama.cpp."""
    metadata, tensors = read_gguf(path)
    family = metadata['general.architecture']
    original = read_safetensors(directory / 'model.safetensors')
    assert len(tensors) == len(original) and metadata[f'{family}.block_count'] == BLOCKS
    assert metadata[f'{family}.context_length'] == LENGTH and metadata[f'{family}.attention.head_count'] == HEADS
    tokens = metadata['tokenizer.ggml.tokens']
    assert len(tokens) == VOCABULARY and metadata['tokenizer.ggml.merges'] == ['t h', 'th e', '\u0120 f']
    assert tokens[metadata['tokenizer.ggml.eos_token_id']] == '<|endoftext|>' and metadata['tokenizer.ggml.token_type'][-1] == 3
    names = {'transformer.h.1.mlp.c_fc.weight': 'blk.1.ffn_up.weight', 'transformer.ln_f.bias': 'output_norm.bias',
             'transformer.h.0.attn.c_attn.weight': 'blk.0.attn_qkv.weight', 'transformer.wpe.weight': 'position_embd.weight',
             'model.layers.1.self_attn.q_proj.weight': 'blk.1.attn_q.weight', 'model.layers.0.self_attn.k_proj.weight': 'blk.0.attn_k.weight',
             'model.layers.1.mlp.down_proj.weight': 'blk.1.ffn_down.weight', 'model.norm.weight': 'output_norm.weight'}
    compared = 0
    for there, here in names.items():
        if there not in original:
            continue
        expected = original[there].T if 'c_fc' in there or 'c_attn' in there else original[there]
        if 'q_proj' in there or 'k_proj' in there:
            expected = expected.reshape(-1, 2, WIDTH // HEADS // 2, WIDTH).swapaxes(1, 2).reshape(-1, WIDTH)
        assert tensors[here].shape == expected.shape and (tensors[here] == expected).all(), here
        compared += 1
    assert compared == 4


def write_tokenizer(folder):
    """GPT-2's form: the bytes' letters, three merges, a special text."""
    prints = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in prints] + [chr(256 + i) for i in range(256 - len(prints))]
    pieces = [*letters, 'th', 'the', '\u0120f', '<|endoftext|>']
    (folder / 'vocab.json').write_text(json.dumps({piece: token for token, piece in enumerate(pieces)}))
    (folder / 'merges.txt').write_text('#version: 0.2\nt h\nth e\n\u0120 f\n')


def logits_of(folder, ids):
    """What the model of a directory computes."""
    config = json.loads((folder / 'config.json').read_text())
    tensors = {name.removeprefix('transformer.').removeprefix('model.'): values.astype(numpy.float64)
               for name, values in read_safetensors(folder / 'model.safetensors').items()}
    return (gpt2 if config['model_type'] == 'gpt2' else llama)(tensors, config, ids)


# What the program does.

class Model:
    def __init__(self, trainer, folder, name):
        self.trainer, self.folder, self.name = trainer, folder, name

    def run(self, *words):
        done = subprocess.run([str(word) for word in (self.trainer, *words)], cwd=self.folder, capture_output=True, timeout=300)
        assert done.returncode == 0, f'{self.name}, {words}: {done.stderr.decode()}'
        return done.stdout

    def problem(self, *words):
        """What a command reports; empty if it succeeds."""
        done = subprocess.run([str(word) for word in (self.trainer, *words)], cwd=self.folder, capture_output=True, timeout=300)
        return done.stderr.decode() if done.returncode else ''

    def compare(self, run, directory):
        """The probabilities of the token that follows, beside those of the directory; and the likeliest tokens."""
        ids = numpy.random.default_rng(3).integers(0, VOCABULARY, (ROWS, LENGTH))
        numpy.save(self.folder / 'ids.npy', ids.astype(numpy.float32))
        given = numpy.load(io.BytesIO(self.run('predict', run, 'ids.npy', '--npy'))).reshape(ROWS, VOCABULARY)
        worst = 0
        for row in range(ROWS):
            expected = logits_of(self.folder / directory, ids[row])[-1]
            expected -= numpy.log(numpy.exp(expected).sum())
            worst = max(worst, abs(numpy.log(given[row].astype(numpy.float64)) - expected).max())
        text = json.loads(self.run('generate', run, '--prompt', PROMPT, '--temperature', 0, '--tokens', GREEDY // 2, '--json'))
        print(f'{self.name}: logarithms of probabilities of {run} differ by {worst:.1e} from those of {directory}', flush=True)
        assert worst <= 1e-4, worst
        return ids, given, text['text']


def check(trainer, name, models, keep):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        model, there = Model(trainer, folder, name), folder / 'there'
        if models:
            shutil.copytree(models / name, there)
        else:
            there.mkdir()
            (there / 'config.json').write_text(json.dumps(CONFIGS[name]))
            write_safetensors(there / 'model.safetensors', random_weights(name))
        write_tokenizer(there)
        (folder / 'a.txt').write_text(TEXT)
        (folder / 'a.yaml').write_bytes(model.run('new', 'gpt', 'a.txt', '--from', 'there'))
        settings = ['-s', f'data.dataset.text.sequence={LENGTH}', '-s', 'train.batch=4', '-s', 'train.warmup=~']
        original = read_safetensors(there / 'model.safetensors')
        assert ' 0 not used' in model.run('check', 'a.yaml', *settings).decode()

        # As it is, in and out again; partitioned, too.
        model.run('a.yaml', '-q', '-o', 'same', *settings, '-s', 'train.epochs=0')
        model.compare('same', 'there')
        model.run('-n', 2, '--modelpar', 'a.yaml', '-q', '-o', 'parts', *settings, '-s', 'train.epochs=0')
        model.run('export', 'parts', 'hf', '-o', 'out')
        again = read_safetensors(folder / 'out' / 'model.safetensors')
        assert again.keys() == original.keys(), again.keys() ^ original.keys()
        for key, values in again.items():
            expected = original[key][:LENGTH] if key.endswith('wpe.weight') else original[key]
            assert values.shape == expected.shape and (values == expected).all(), key

        # Trained further.
        model.run('a.yaml', '-q', '-o', 'more', *settings, '-s', 'train.steps=20', '-s', 'train.optimizer.adamw.lr=0.003')
        model.run('export', 'more', 'hf', '-o', 'trained')
        ids, given, text = model.compare('more', 'trained')
        model.run('export', 'more', 'gguf', '-o', 'trained.gguf')
        check_gguf(folder / 'trained.gguf', folder / 'trained')
        assert any((values != original[key][:len(values)]).any()
                   for key, values in read_safetensors(folder / 'trained' / 'model.safetensors').items())

        # Adapters alone, on two ranks; they are merged on the way out.
        model.run('-n', 2, '--datapar', 'a.yaml', '-q', '-o', 'adapted', *settings, '-s', 'train.steps=20', '-s', 'train.optimizer.adamw.lr=0.003',
                  '-s', 'defaults.attention.lora={rank: 4, alpha: 8}')
        model.run('export', 'adapted', 'hf', '-o', 'merged')
        model.compare('adapted', 'merged')
        changed = {key for key, values in read_safetensors(folder / 'merged' / 'model.safetensors').items()
                   if (values != original[key][:len(values)]).any()}
        assert changed == {key for key in original if 'attn' in key and key.endswith('weight')}, changed
        if keep:
            target = keep / name
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder / 'trained', target)
            shutil.copy(folder / 'trained.gguf', target / 'model.gguf')
            numpy.save(target / 'ids.npy', ids)
            numpy.save(target / 'probabilities.npy', given)
            (target / 'text.json').write_text(json.dumps({'prompt': PROMPT, 'text': text, 'tokens': GREEDY // 2}))


def check_sentencepieces(trainer, keep):
    """A Llama whose tokens SentencePiece learns of the text, as one file."""
    with tempfile.TemporaryDirectory() as place:
        folder, size = pathlib.Path(place), 282
        model = Model(trainer, folder, PIECES)
        (folder / 'a.txt').write_text(TEXT)
        attention = {'heads': HEADS, 'causal': True, 'rotary': True, 'bias': False}
        gate, up = ([{'dense': {'units': 88, 'bias': False} | more}] for more in ({'activation': 'silu'}, {}))
        (folder / 'a.yaml').write_text(json.dumps({
            'data': {'dataset': {'text': {'file': 'a.txt', 'tokens': {'sentencepiece': size}, 'sequence': LENGTH}}},
            'model': {'layers': [{'embedding': WIDTH}, {'residual': ['rms_norm', {'attention': attention}]},
                                 {'residual': ['rms_norm', {'multiply': [gate, up]}, {'dense': {'units': WIDTH, 'bias': False}}]},
                                 'rms_norm', {'dense': {'units': size, 'bias': False}}],
                      'loss': 'softmax_cross_entropy'},
            'train': {'steps': 60, 'batch': 4, 'optimizer': {'adamw': {'lr': 0.01}}}}))
        if '-Dsentencepiece=enabled' in model.problem('check', 'a.yaml'):
            print('built without SentencePiece: its tokens are not checked')
            return
        model.run('a.yaml', '-q', '-o', 'pieces')
        model.run('export', 'pieces', 'gguf', '-o', 'model.gguf')
        metadata, _ = read_gguf(folder / 'model.gguf')
        tokens, scores, types = (metadata[f'tokenizer.ggml.{key}'] for key in ('tokens', 'scores', 'token_type'))
        assert metadata['tokenizer.ggml.model'] == 'llama' and len(tokens) == len(scores) == len(types) == size
        assert types == [2] + 256 * [6] + (size - 257) * [1] and tokens[11] == '<0x0A>' and '\u2581f' in tokens
        assert all(score > after for score, after in zip(scores[257:], scores[258:])), scores
        assert tokens[metadata['tokenizer.ggml.eos_token_id']] == '<0xFF>' and metadata['tokenizer.ggml.unknown_token_id'] == 0
        assert not any(metadata[f'tokenizer.ggml.add_{key}'] for key in ('bos_token', 'eos_token', 'space_prefix'))
        text = json.loads(model.run('generate', 'pieces', '--prompt', PROMPT, '--temperature', 0, '--tokens', GREEDY, '--json'))['text']
        model.run('a.yaml', '-q', '-o', 'unigram', '-s', 'train.steps=1',
                  '-s', 'data.dataset.text.tokens.sentencepiece={vocabulary: %d, model: unigram}' % size)
        assert 'model: bpe' in model.problem('export', 'unigram', 'gguf')
        print(f'{PIECES}: {scores[257:260]} are the first scores')
        if keep:
            (keep / PIECES).mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / 'model.gguf', keep / PIECES)
            (keep / PIECES / 'text.json').write_text(json.dumps({'prompt': PROMPT, 'text': text, 'tokens': GREEDY}))


def check_characters(trainer, keep):
    """A run of tokens that are characters, out and in again."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        model = Model(trainer, folder, 'characters')
        (folder / 'a.txt').write_text(CHARACTERS, newline='')
        (folder / 'a.yaml').write_bytes(model.run('new', 'gpt', 'a.txt'))
        assert b'tokens: characters' in (folder / 'a.yaml').read_bytes()
        settings = ['-q', '-s', f'data.dataset.text.sequence={LENGTH}', '-s', 'train.batch=4', '-s', 'train.warmup=~']
        model.run('a.yaml', '-o', 'run', *settings, '-s', 'train.steps=2')
        model.run('export', 'run', 'hf', '-o', 'out')
        vocabulary = json.loads((folder / 'out' / 'tokenizer.json').read_text())['model']['vocab']
        assert vocabulary == {character: token for token, character in enumerate(sorted(set(CHARACTERS)))}, vocabulary
        (folder / 'b.yaml').write_bytes(model.run('new', 'gpt', 'a.txt', '--from', 'out'))
        model.run('b.yaml', '-o', 'again', *settings, '-s', 'train.epochs=0')
        texts = {model.run('generate', run, '--prompt', CHARACTERS[:8], '--temperature', 0, '--tokens', 8, '--json')
                 for run in ('run', 'again')}
        assert len(texts) == 1, texts
        if keep:
            shutil.rmtree(keep / 'characters', ignore_errors=True)
            shutil.copytree(folder / 'out', keep / 'characters')


def check_resnet(trainer, name, models, keep):
    with tempfile.TemporaryDirectory() as place:
        folder, draw, config = pathlib.Path(place), numpy.random.default_rng(3), RESNETS[name]
        model, there = Model(trainer, folder, name), folder / 'there'
        if models:
            shutil.copytree(models / name, there)
        else:
            there.mkdir()
            (there / 'config.json').write_text(json.dumps(config))
            write_safetensors(there / 'model.safetensors', random_resnet(config))
        images = draw.integers(0, 256, (ROWS, SIDE, SIDE, 3), numpy.uint8)
        numpy.save(folder / 'images.npy', images)
        numpy.save(folder / 'labels.npy', numpy.arange(ROWS) % CLASSES)
        (folder / 'a.yaml').write_text(json.dumps({
            'data': {'dataset': {'npy': {'train_inputs': 'images.npy', 'train_targets': 'labels.npy'}},
                     'normalize': {'mean': MEAN, 'deviation': DEVIATION}},
            'model': {'weights': {'file': 'there'}, 'layers': resnet_layers(config), 'loss': 'softmax_cross_entropy'},
            'train': {'epochs': 2, 'batch': 4, 'optimizer': {'sgd': {'lr': 0.01}}}}))
        original = {key: values for key, values in read_safetensors(there / 'model.safetensors').items() if 'num_batches' not in key}
        assert f'{len(original)} tensors taken, 0 not used' in model.run('check', 'a.yaml').decode()

        def compare(run, directory):
            given = numpy.load(io.BytesIO(model.run('predict', run, 'images.npy', '--npy'))).reshape(ROWS, CLASSES)
            weights = {key.removeprefix('resnet.'): values.astype(numpy.float64)
                       for key, values in read_safetensors(folder / directory / 'model.safetensors').items()}
            pixels = ((images / 255 - MEAN) / DEVIATION).transpose(0, 3, 1, 2)
            worst = abs(numpy.log(given.astype(numpy.float64)) - numpy.log(softmax(resnet(weights, config, pixels)))).max()
            print(f'{name}: logarithms of probabilities of {run} differ by {worst:.1e} from those of {directory}', flush=True)
            assert worst <= 1e-4, worst
            return given

        model.run('a.yaml', '-q', '-o', 'same', '-s', 'train.epochs=0')
        compare('same', 'there')
        model.run('-n', 2, '--modelpar', 'a.yaml', '-q', '-o', 'parts', '-s', 'train.epochs=0')
        model.run('export', 'parts', 'hf', '-o', 'out')
        again = read_safetensors(folder / 'out' / 'model.safetensors')
        counters = {key.replace('running_mean', 'num_batches_tracked') for key in original if 'running_mean' in key}
        assert again.keys() == original.keys() | counters, again.keys() ^ original.keys()
        assert all((again[key] == values).all() and again[key].shape == values.shape for key, values in original.items())
        written = json.loads((folder / 'out' / 'config.json').read_text())
        assert all(written[key] == value for key, value in config.items()), written

        model.run('a.yaml', '-q', '-o', 'more')
        model.run('export', 'more', 'hf', '-o', 'trained')
        given = compare('more', 'trained')
        trained = read_safetensors(folder / 'trained' / 'model.safetensors')
        assert all((trained[key] != values).any() for key, values in original.items())
        if keep:
            target = keep / name
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder / 'trained', target)
            numpy.save(target / 'images.npy', images)
            numpy.save(target / 'probabilities.npy', given)


def make_models(folder):
    """Random models of CONFIGS and RESNETS by transformers."""
    import torch
    import transformers
    for name, settings in CONFIGS.items():
        torch.manual_seed(1)
        values = {key: value for key, value in settings.items() if key != 'model_type'}
        config = transformers.AutoConfig.for_model(settings['model_type'], **values)
        model = transformers.AutoModelForCausalLM.from_config(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.2)
        model.save_pretrained(folder / name)
        print(f'made {folder / name} by transformers {transformers.__version__}')
    for name, settings in RESNETS.items():
        torch.manual_seed(1)
        model = transformers.ResNetForImageClassification(transformers.ResNetConfig(**settings))
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                for values, low, high in ((module.running_mean, -0.2, 0.2), (module.running_var, 0.5, 1.5),
                                          (module.weight.data, 0.5, 1), (module.bias.data, -0.2, 0.2)):
                    values.uniform_(low, high)
        model.save_pretrained(folder / name)
        print(f'made {folder / name} by transformers {transformers.__version__}')


def check_with_transformers(folder):
    import torch
    import transformers
    for name in CONFIGS:
        target = folder / name
        model = transformers.AutoModelForCausalLM.from_pretrained(target, attn_implementation='eager').eval()
        ids, given = numpy.load(target / 'ids.npy'), numpy.load(target / 'probabilities.npy')
        with torch.no_grad():
            expected = torch.log_softmax(model(torch.tensor(ids)).logits[:, -1].double(), -1).numpy()
        difference = abs(numpy.log(given.astype(numpy.float64)) - expected).max()
        tokenizer = transformers.AutoTokenizer.from_pretrained(target)
        kept = json.loads((target / 'text.json').read_text())
        prompt = tokenizer(kept['prompt'], return_tensors='pt').input_ids
        with torch.no_grad():
            tokens = model.generate(prompt, do_sample=False, max_new_tokens=kept['tokens'], pad_token_id=0)
        text = tokenizer.decode(tokens[0, prompt.shape[1]:])
        same = text == kept['text']
        print(f'{name}: transformers {transformers.__version__}: logarithms differ by {difference:.1e}; greedy text',
              'is the same' if same else f'{text!r}, here {kept["text"]!r}')
        assert difference <= 1e-4 and same
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / 'characters')
    alphabet = sorted(set(CHARACTERS))
    tokens = tokenizer(CHARACTERS).input_ids
    assert tokens == [alphabet.index(character) for character in CHARACTERS]
    assert tokenizer.decode(tokens) == CHARACTERS
    print(f'characters: transformers {transformers.__version__}: the tokens are the same')
    for name in RESNETS:
        target = folder / name
        model, loading = transformers.AutoModelForImageClassification.from_pretrained(target, output_loading_info=True)
        assert not any(loading.values()), loading
        images = numpy.load(target / 'images.npy')
        pixels = transformers.AutoImageProcessor.from_pretrained(target)(list(images), return_tensors='pt')
        with torch.no_grad():
            expected = torch.log_softmax(model.eval()(**pixels).logits.double(), -1).numpy()
        difference = abs(numpy.log(numpy.load(target / 'probabilities.npy').astype(numpy.float64)) - expected).max()
        print(f'{name}: transformers {transformers.__version__}: logarithms differ by {difference:.1e}')
        assert difference <= 1e-4


def check_with_llama(folder):
    for name in [*CONFIGS, *(path.name for path in folder.glob(PIECES))]:
        target = folder / name
        kept = json.loads((target / 'text.json').read_text())
        command = ['llama-completion', '-m', target / 'model.gguf', '-no-cnv', '--no-display-prompt', '--simple-io', '-p', kept['prompt'],
                   '-n', kept['tokens'], '--temp', 0, '-ctk', 'f32', '-ctv', 'f32', '-fa', 'off', '--no-warmup', '-t', 1]
        done = subprocess.run([str(word) for word in command], capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
        text = done.stdout.decode(errors='replace')
        same = done.returncode == 0 and text.rstrip() == kept['text'].rstrip()
        print(f'{name}: llama.cpp: greedy text', 'is the same' if same else f'{text!r}, here {kept["text"]!r}; {done.stderr.decode()[-2000:]}')
        assert same


parser = argparse.ArgumentParser()
parser.add_argument('trainer', nargs='?', type=pathlib.Path)
for flag in ('--models', '--keep', '--make', '--transformers', '--llama'):
    parser.add_argument(flag, type=pathlib.Path)
arguments = parser.parse_args()
if arguments.make:
    make_models(arguments.make)
elif arguments.transformers:
    check_with_transformers(arguments.transformers)
elif arguments.llama:
    check_with_llama(arguments.llama)
else:
    for name in CONFIGS:
        check(arguments.trainer.resolve(), name, arguments.models, arguments.keep)
    check_sentencepieces(arguments.trainer.resolve(), arguments.keep)
    check_characters(arguments.trainer.resolve(), arguments.keep)
    for name in RESNETS:
        check_resnet(arguments.trainer.resolve(), name, arguments.models, arguments.keep)
