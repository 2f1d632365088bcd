"""Trains configs for a few steps, exports them, and compares what others compute with `trainer predict`.

Usage: exported_configs.py TRAINER CONFIGS --cc COMPILER [--only NAME,...] [--onnxruntime FOLDER] [--run PROGRAM]

The C file is compiled with all warnings of C99 as errors, and run (by PROGRAM, such as qemu-aarch64, if COMPILER is that of
another machine). For images, and tables without categories, its outputs are compared with those of `trainer predict`: 1e-5. With
FOLDER/node_modules/onnxruntime-node, ONNX Runtime gets random samples, too, and is compared with the C file: 1e-4 of the
largest output. Data is made up, as in every_config.py.
"""
import argparse
import array
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from every_config import settings_of, text_of, write_data
from generated_data import png

ROWS = 3
MAIN = '''#include <stdio.h>
#include "model.c"
int main(void)
{
  static float x[PREDICT_INPUTS], y[PREDICT_OUTPUTS];
  while (fread(x, sizeof x, 1, stdin) == 1) {
    predict(x, y);
    fwrite(y, sizeof y, 1, stdout);
  }
  return 0;
}
'''


def run(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, timeout=500, **more)
    assert done.returncode == 0, f'{words}: {done.stderr.decode()}'
    return done.stdout


def floats(content):
    return array.array('f', content)


def apart(values, expected):
    assert len(values) == len(expected) > 0
    return max(abs(a - b) for a, b in zip(values, expected))


class Exported:
    """A run of a config, its C program and its ONNX file in a folder."""

    def __init__(self, trainer, config, folder, compiler, runner, environment):
        self.trainer, self.folder, self.environment = trainer, folder, environment
        text = text_of(config)
        write_data(text, folder, False)
        settings = settings_of(config.stem, text, folder, 2)
        self.settings = [word for setting in settings for word in ('-s', setting)]
        self.run = folder / 'run'
        run([trainer, config, '-q', '-o', self.run, *self.settings], env=environment)
        printed = self.export('c', folder / 'model.c')
        shape, rest = re.search(r'^input +([\dx]+)(.*)$', printed, re.MULTILINE).groups()
        self.extents = [int(extent) for extent in shape.split('x')]
        vocabulary = re.search(r'ids of tokens in \[0, (\d+)\)', rest)
        self.vocabulary = int(vocabulary[1]) if vocabulary else 0
        # Images of a folder are cropped, and a class for each pixel is not for predict.
        self.takes_images = 'pixels' in rest and 'image_folder' not in text and re.search(r'^output +\d+ ', printed, re.MULTILINE)
        # An element such as cut=Fair stands for a text of a category.
        self.takes_rows = 'boolean' in rest and not re.search(r'^  "[^"]*=', (folder / 'model.c').read_text(), re.MULTILINE)
        (folder / 'main.c').write_text(MAIN)
        run([compiler, '-std=c99', '-Wall', '-Wextra', '-pedantic', '-Werror', '-O2', 'main.c', '-o', 'main', '-lm'], cwd=folder)
        self.program = [*runner, folder / 'main']

    def export(self, form, file):
        return run([self.trainer, 'export', self.run, form, '-o', file], env=self.environment).decode()

    def size(self):
        size = 1
        for extent in self.extents:
            size *= extent
        return size

    def by_c(self, samples):
        return floats(run(self.program, input=samples.tobytes()))

    def sample(self, number):
        source = random.Random(number)
        return array.array('f', [source.randrange(self.vocabulary) if self.vocabulary else source.random()
                                 for _ in range(ROWS * self.size())])

    def images(self):
        """Files of noise, and their pixels."""
        source = random.Random(1)
        channels, height, width = self.extents
        files, samples = [], array.array('f')
        for number in range(ROWS):
            pixels = source.randbytes(self.size())
            file = self.folder / f'{number}.png'
            file.write_bytes(png(channels, height, width, pixels))
            files.append(file)
            for channel in range(channels):
                samples.extend(value / 255 for value in pixels[channel::channels])
        return files, samples

    def rows(self):
        """A table of random values, and these."""
        samples, width = self.sample(1), self.size()
        file = self.folder / 'new.csv'
        file.write_text(''.join(','.join(map(repr, samples[row * width:(row + 1) * width])) + '\n' for row in range(ROWS)))
        return [file], samples

    def predicted(self):
        """The largest difference from `trainer predict`, of outputs above 1 relative to the largest one."""
        files, samples = self.images() if self.takes_images else self.rows()
        table = run([self.trainer, 'predict', self.run, '--npy', *files], env=self.environment)
        expected = floats(table[10 + int.from_bytes(table[8:10], 'little'):])
        return apart(self.by_c(samples), expected) / max(1, *map(abs, expected))

    def by_onnx_runtime(self, packages):
        self.export('onnx', self.folder / '0.onnx')
        samples = self.sample(2)
        (self.folder / '0.x').write_bytes(samples.tobytes())
        (self.folder / '0.y').write_bytes(self.by_c(samples).tobytes())
        model = {'file': '0', 'name': '', 'extents': [ROWS, *self.extents], 'tokens': self.vocabulary > 0}
        (self.folder / 'models.json').write_text(json.dumps([model]))
        script = pathlib.Path(__file__).parent.parent / 'models/exporting/onnx_runtime.js'
        environment = os.environ | {'NODE_PATH': str(packages / 'node_modules')}
        return run(['node', script, self.folder], env=environment).decode().strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('configs', type=pathlib.Path)
    parser.add_argument('--cc', default='cc')
    parser.add_argument('--only', help='names, with commas between them')
    parser.add_argument('--onnxruntime', type=pathlib.Path)
    parser.add_argument('--run', default='')
    arguments = parser.parse_args()
    configs = sorted(arguments.configs.glob('*.yaml'))
    if arguments.only:
        names = arguments.only.split(',')
        configs = [config for config in configs if config.stem in names]
        assert len(configs) == len(names), 'no such config'
    environment = {key: value for key, value in os.environ.items() if key != 'TRAINER_DATA'}
    failed = 0
    for config in configs:
        try:
            with tempfile.TemporaryDirectory() as folder:
                model = Exported(arguments.trainer.resolve(), config, pathlib.Path(folder), arguments.cc, arguments.run.split(),
                                 environment)
                line = config.stem
                outputs = model.by_c(model.sample(3))
                assert len(outputs) >= ROWS and all(math.isfinite(value) for value in outputs), outputs
                if model.takes_images or model.takes_rows:
                    difference = model.predicted()
                    line += f', C and predict: {difference:.1e}'
                    assert difference <= 1e-5, line
                if arguments.onnxruntime:
                    line += ', ONNX Runtime and C: ' + model.by_onnx_runtime(arguments.onnxruntime.resolve())
                print(line, flush=True)
        except (AssertionError, subprocess.SubprocessError) as failure:
            failed += 1
            print(f'FAILS: {config.stem}: {failure}', flush=True)
    sys.exit(1 if failed else 0)


main()
