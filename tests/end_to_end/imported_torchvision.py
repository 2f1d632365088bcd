"""Compares networks that have torchvision's random weights with torchvision: outputs within 1e-4 of the largest.

Usage: imported_torchvision.py TRAINER PROJECT_ROOT PAGE [NAME ...]; ends with 77 where torchvision is missing.

resnet18 is the configuration that PAGE shows, with its rules of names; resnet50 is configs/resnet50.yaml, whose layers are
numbered, with a rule for each. Images are 64 pixels wide. The weights are written as F32; those of resnet18 as BF16, too.
"""
import io
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    import torchvision
    from PIL import Image
except ImportError as missing:
    print(f'skipped: {missing}')
    sys.exit(77)

trainer, root, page = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
SIDE, CLASSES, IMAGES = 64, 5, 3
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def write_safetensors(path, tensors, kind='F32'):
    """As the library of that name does: sorted by name."""
    header, content = {'__metadata__': {'format': 'pt'}}, b''
    for name in sorted(tensors):
        values = tensors[name].numpy()
        if values.dtype == numpy.int64:
            stored, data = 'I64', values.tobytes()
        elif kind == 'BF16':
            stored, data = kind, (values.view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes()
        else:
            stored, data = kind, values.tobytes()
        header[name] = {'dtype': stored, 'shape': list(values.shape), 'data_offsets': [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, 'little') + text + content)


def run(folder, *words):
    done = subprocess.run([str(word) for word in (trainer, *words)], cwd=folder, capture_output=True, timeout=300)
    assert done.returncode == 0, f'{words}: {done.stderr.decode()}'
    return done.stdout


def write_images(folder):
    draw = numpy.random.default_rng(1)
    images = [draw.integers(0, 256, (SIDE, SIDE, 3), dtype=numpy.uint8) for _ in range(IMAGES)]
    for split in ('train', 'val'):
        for label in range(CLASSES):
            place = folder / 'flowers' / split / str(label)
            place.mkdir(parents=True)
            Image.fromarray(images[label % IMAGES]).save(place / '0.png')
    for number, image in enumerate(images):
        Image.fromarray(image).save(folder / f'{number}.png')
    pixels = torch.tensor(numpy.stack(images)).permute(0, 3, 1, 2).float() / 255
    return (pixels - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(DEVIATION).view(3, 1, 1)


def random_model(name):
    """With statistics and factors of batch normalization that matter."""
    torch.manual_seed(1)
    model = getattr(torchvision.models, name)(num_classes=CLASSES)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            for values, low, high in ((module.running_mean, -0.2, 0.2), (module.running_var, 0.5, 1.5),
                                      (module.weight.data, 0.5, 1), (module.bias.data, -0.2, 0.2)):
                values.uniform_(low, high)
    return model.eval()


def numbered_rules():
    """Of configs/resnet50.yaml: convolutions and norms are numbered, those of a shortcut behind those of its body."""
    rules, number = {'conv1': 'conv1', 'bn1': 'batch_norm1', 'fc': 'dense1'}, 1
    for stage, blocks in enumerate((3, 4, 6, 3), 1):
        for block in range(blocks):
            place = f'layer{stage}.{block}.'
            pairs = [(f'{place}conv{i}', f'{place}bn{i}') for i in (1, 2, 3)]
            if block == 0:
                pairs.append((place + 'downsample.0', place + 'downsample.1'))
            for conv, norm in pairs:
                number += 1
                rules |= {conv: f'conv{number}', norm: f'batch_norm{number}'}
    return rules


def config_of(name, folder):
    """The configuration file and settings that change it."""
    if name == 'resnet18':
        text = re.search(r'^`photos.yaml`:\n\n```yaml\n(.*?)^```', page.read_text(), re.MULTILINE | re.DOTALL)[1]
        (folder / 'photos.yaml').write_text(text)
        return folder / 'photos.yaml', ['-s', 'model.weights.except=[]', '-s', 'model.weights.map.fc=head']
    rules = ', '.join(f'{there}: {here}' for there, here in numbered_rules().items())
    return root / 'configs' / f'{name}.yaml', ['-s', 'data.path=flowers', '-s',
                                               f'model.weights={{file: {name}.safetensors, map: {{{rules}}}}}']


def check(name, kind):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        pixels, model = write_images(folder), random_model(name)
        if kind == 'BF16':
            for values in (*model.parameters(), *(b for b in model.buffers() if b.dtype == torch.float32)):
                values.data = (values.data.view(torch.int32) & -0x10000).view(torch.float32)
        write_safetensors(folder / f'{name}.safetensors', {key: value.contiguous() for key, value in model.state_dict().items()}, kind)
        config, settings = config_of(name, folder)
        settings += ['-s', f'data.dataset={{image_folder: {{size: {SIDE}}}}}', '-s', 'data.augment=[]', '-s', 'train.epochs=0',
                     '-s', 'train.batch=2', '-s', 'train.warmup=~', '-s', 'model.loss=sigmoid_cross_entropy']
        table = run(folder, 'check', config, *settings).decode()
        assert f'{len(model.state_dict()) - sum("num_batches" in key for key in model.state_dict())} tensors taken, 0 not used' in table, table
        run(folder, config, '-q', '-o', 'run', *settings)
        array = run(folder, 'predict', 'run', '--npy', *(f'{number}.png' for number in range(IMAGES)))
        chances = numpy.load(io.BytesIO(array)).astype(numpy.float64).reshape(IMAGES, CLASSES)
        with torch.no_grad():
            expected = model(pixels).double().numpy()
        difference = abs(numpy.log(chances / (1 - chances)) - expected).max() / max(1, abs(expected).max())
        print(f'{name} in {kind}: outputs differ by {difference:.1e}, the largest is {abs(expected).max():.2f}', flush=True)
        assert math.isfinite(difference) and difference <= 1e-4


for name in sys.argv[4:] or ['resnet18', 'resnet50']:
    check(name, 'F32')
    if name == 'resnet18':
        check(name, 'BF16')
