"""The schema accepts every config of the project, what the program resolves it to, and the settings that a page gives for those of
other programs; and it refuses mistakes.

Usage: schema_test.py TRAINER PROJECT_ROOT; skipped without Python's jsonschema and yaml.
"""
import json
import pathlib
import re
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError:
    sys.exit(77)

trainer, root = sys.argv[1], pathlib.Path(sys.argv[2])
first_line = '# yaml-language-server: $schema=../docs/config.schema.json\n'
breaches = []

# PyYAML takes 1e-4 for a text; editors, whose YAML is 1.2, take it for the number that it is.
yaml.SafeLoader.add_implicit_resolver('tag:yaml.org,2002:float', re.compile(r'[-+]?\d+(\.\d*)?[eE][-+]?\d+$'),
                                      list('-+0123456789'))
schema = json.loads((root / 'docs/config.schema.json').read_text())
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)


def complaints(text):
    return [f'{"/".join(map(str, error.path))}: {error.message[:200]}'
            for error in validator.iter_errors(yaml.safe_load(text))]


for config in sorted(root.glob('configs/*.yaml')):
    text = config.read_text()
    if not text.startswith(first_line):
        breaches.append(f'{config.name} does not begin with {first_line.strip()}')
    resolved = subprocess.run([trainer, 'config', config], capture_output=True, text=True, check=True).stdout
    breaches += [f'{config.name}, {what}: {complaint}' for what, yaml_text in (('written', text), ('resolved', resolved))
                 for complaint in complaints(yaml_text)]

config = (root / 'configs/mnist-small.yaml').read_text()
for right, wrong in [('epochs:', 'epoch:'), ('batch: 128', 'batch: 0'), ('max_pool: 2', 'max_pool: wide'),
                     ('kernel: 5', 'kernels: 5'), ('momentum: 0.9', 'momentum: 1.5'), ('loss: softmax', 'loss: soft'),
                     ('  loss: softmax_cross_entropy\n', ''), ('kernel: 5', 'kernel: [5, 5, 5]')]:
    if right not in config or not complaints(config.replace(right, wrong)):
        breaches.append(f'the schema accepts {wrong!r} in the place of {right!r}')

for line, accepted in [('train: {clip_norm: ~, warmup: ~}', True), ('train: {clip_norm: $limit}', True),
                       ('train: {clip_norm: 0}', False), ('train: {clip_norm: wide}', False), ('train: {batch: ~}', False),
                       ('defaults: {conv: {bias: false}, init: he}', True), ('defaults: {conv: {bias: 3}}', False),
                       ('defaults: {conv: {name: first}}', False), ('defaults: {conv: {repeat: 2}}', False),
                       ('model: {layers: [{conv: {filters: 4, kernel: 3, repeat: 2, init: he}}, {dense: $classes}]}', True),
                       ('model: {layers: [{dense: {units: 0}}]}', False), ('model: {layers: [{dense: 0}]}', False),
                       ('model: {layers: [{dense: 10, relu: {}}]}', False), ('model: {layers: [relu, block_of_mine]}', True),
                       ('train: {optimizer: {adam: {lr: 0.1}}}', True), ('train: {optimizer: {adam: {lr: -1}}}', False),
                       ('train: {optimizer: {adam: {rate: 1}}}', False), ('train: {optimizer: adma}', False)]:
    if (not complaints('base: other.yaml\n' + line)) != accepted:
        breaches.append(f'the schema {"refuses" if accepted else "accepts"} {line!r}')

definitions = schema['definitions']
known_layers = {**definitions['layer']['oneOf'][1], 'additionalProperties': False}  # without blocks of the user
places = [validator.evolve(schema=place) for place in
          [schema, known_layers, *(schema['properties'][part] for part in ('data', 'model', 'train')),
           *(definition for name, definition in definitions.items() if name not in ('layer', 'defaults'))]]


def has_a_place(setting):
    """True if some part of a configuration, or some member's settings, has this one."""
    return any(all(error.validator == 'required' for error in place.iter_errors(setting)) for place in places)


def settings_of(page):
    """The spans with a colon in the last column of the page's tables, `train.epochs: 3` as a map in a map."""
    for line in (root / page).read_text().splitlines():
        cells = re.split(r'(?<!\\)\|', line)
        for span in re.findall(r'`([\w.]+: [^`]+)`', cells[-2]) if len(cells) > 2 else ():
            if '...' in span or '\\|' in span:
                continue
            keys, value = span.split(': ', 1)
            setting = yaml.safe_load(re.sub(r'\bn\b', '1', value))
            for key in reversed(keys.split('.')):
                setting = {key: setting}
            yield span, setting


given = list(settings_of('docs/tutorials/coming-from.md'))
breaches += [f'coming-from.md gives `{span}`, which no part of a configuration has'
             for span, setting in given if not has_a_place(setting)]
if len(given) < 50 or has_a_place({'dense': {'unit': 3}}):
    breaches.append('settings of coming-from.md are not checked')

most_lines = 2000
if (lines := len((root / 'docs/config.schema.json').read_text().splitlines())) >= most_lines:
    breaches.append(f'the schema has {lines} lines, {most_lines} or more')

print('\n'.join(breaches))
sys.exit(1 if breaches else 0)
