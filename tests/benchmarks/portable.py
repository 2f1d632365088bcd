"""Rows of results/portable.csv: the SHA-256 of the weights after portable steps of five models, by one program.

Usage: portable.py PROGRAM COMPILER OPTIMIZATION [--models NAME...] [--processor NAME] [--commit NAME] -- COMMAND...
PROGRAM, COMPILER and OPTIMIZATION name the program in the table: "AVX2" "g++ 12" O3. COMMAND starts it, for example
`env TRAINER_INSTRUCTIONS=avx2 build/cli/trainer` or `qemu-riscv64 -L ROOT build-riscv64/cli/trainer`. Data is made up, so every machine has
the same. results.py compares the rows.
"""
import argparse
import csv
import datetime
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from program import metrics_of, set_flags, write_text

root = pathlib.Path(__file__).resolve().parent.parent.parent
DIGITS = ['data.dataset=digits', 'data.fraction=0.05']
# Name in the table -> (config, steps, settings).
MODELS = {
    'mnist-mlp': ('mnist-mlp', 200, [*DIGITS, 'train.batch=10']),
    'mnist-small': ('mnist-small', 200, [*DIGITS, 'train.batch=10']),
    'cifar10-resnet20': ('cifar10-resnet20', 20, [
        'data.dataset={synthetic: {shape: [3, 32, 32], classes: 10, train: 200, test: 10}}', 'train.batch=2']),
    'char-lstm': ('char-lstm', 200, ['data.dataset.text.file=text.txt', 'data.dataset.text.sequence=20', 'model.layers[1].lstm.units=32', 'train.batch=10']),
    'gpt-small with dropout 0.1': ('gpt-small', 200, [
        'data.dataset.text.file=text.txt', 'data.dataset.text.sequence=32', 'vars.width=32', 'train.batch=10',
        'blocks.decoder.layers[1].residual=[layer_norm, {dense: {expand: 4, activation: gelu}}, {dropout: 0.1}, {dense: $width}]']),
}


def weights_of(file):
    """The bytes of all tensors: the header has the program's version."""
    content = file.read_bytes()
    header = int.from_bytes(content[:8], 'little')
    tensors = {name: tensor for name, tensor in json.loads(content[8:8 + header]).items() if name != '__metadata__'}
    begin = 8 + header
    return b''.join(content[begin + tensor['data_offsets'][0]:begin + tensor['data_offsets'][1]] for _, tensor in sorted(tensors.items()))


def main():
    words, command = sys.argv[1:], []
    if '--' in words:
        words, command = words[:words.index('--')], words[words.index('--') + 1:]
    parser = argparse.ArgumentParser()
    for name in ('program', 'compiler', 'optimization'):
        parser.add_argument(name)
    parser.add_argument('--models', nargs='+', default=list(MODELS))
    parser.add_argument('--processor', default='-')
    parser.add_argument('--commit', default='-')
    options = parser.parse_args(words)
    rows = csv.writer(sys.stdout, lineterminator='\n')
    for model in options.models:
        config, steps, settings = MODELS[model]
        with tempfile.TemporaryDirectory() as folder:
            write_text(pathlib.Path(folder, 'text.txt'), 20000)
            settings = [*settings, f'data.path={folder}', 'train.epochs=~', f'train.steps={steps}', 'train.exact={portable: true}', 'train.evaluate=never']
            subprocess.run([*command, root / 'configs' / f'{config}.yaml', '-q', '--threads', '1', '-o', f'{folder}/run',
                            *set_flags(settings)], check=True, stdout=subprocess.DEVNULL)
            weights = hashlib.sha256(weights_of(pathlib.Path(folder, 'run/checkpoints/last/model.safetensors'))).hexdigest()[:16]
            scores = ''.join(json.dumps([line.get(key) for key in ('step', 'loss', 'accuracy')]) for line in metrics_of(f'{folder}/run'))
            losses = hashlib.sha256(scores.encode()).hexdigest()[:16]
        rows.writerow([datetime.date.today(), options.processor, options.commit, model, steps, options.program, options.compiler,
                       f'-{options.optimization}', weights, losses])
        sys.stdout.flush()


if __name__ == '__main__':
    main()
