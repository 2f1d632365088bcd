"""Compares README.md, docs/ and the list of configs with the program: made files, links, paths, quoted code, commands,
flags, YAML, shown output; and no page may hold a time of day.

A part of a configuration is checked over a small one. `<!-- checked with KEY=VALUE ... -->` before it has settings that it needs.

Usage: pages_test.py TRAINER PROJECT_ROOT; prints every breach and ends with 1.
"""
import concurrent.futures
import itertools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

trainer, root = sys.argv[1], pathlib.Path(sys.argv[2])
breaches, usages = [], {}
absent = 'cannot read `.*`: No such|no such (file|program)|dataset file not found|does not exist|is not a file of weights'
made = {'docs/config.schema.json': ['schema'], 'docs/keys.md': ['schema', '--keys']}
placeholders = {'N': '2', 'K': '1', 'SHARE': '0.5', 'CONFIG': 'config.yaml', 'FILE': 'file.yaml', 'RUN': 'runs/name', 'KIND': 'mlp',
                'FORMAT': 'onnx', 'SHELL': 'bash'}
launcher_flags = {'--shm-size', '--oversubscribe', '--allow-run-as-root', '--hostfile', '--map-by'}


def output(*arguments):
    return subprocess.run([trainer, *arguments], capture_output=True, text=True, check=True).stdout


def flags_of(*command):
    return set(re.findall(r'(?<![\w-])--?[a-z][a-z-]*', output(*command, '--help')))


def codes(text):
    """What a page shows as code: spans, and the lines of blocks."""
    fenced = False
    for line in text.splitlines():
        if line.startswith('```'):
            fenced = not fenced
        elif fenced or line.startswith('    '):
            yield line
        else:
            yield from re.findall(r'`([^`]+)`', line)


def check_command(page, words):
    """`words` is what follows the program's name."""
    plain = [word for word in words if not word.startswith('-')]
    verb = next((word for word in plain if word in verbs), 'train')
    if verb not in plain and plain and re.fullmatch('[a-z]+', words[0]):
        breaches.append(f'{page}: `trainer {words[0]}` is no command')
    for word in words:
        flag = re.match(r'--?[a-z][a-z-]*', word)
        if flag and flag[0] not in verbs[verb] | common:
            breaches.append(f'{page}: `trainer {verb}` does not know {flag[0]}')


def run_in(folder, *arguments):
    """In an environment without data."""
    environment = {key: value for key, value in os.environ.items() if key != 'TRAINER_DATA'} | {'HOME': str(empty)}
    return subprocess.run([trainer, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)


def errors_but(done, expected):
    return [error for error in re.findall('^error: .*', done.stderr, re.MULTILINE) if not re.search(expected, error)]


def blocks(text):
    """The kind of each fenced block, or `indented`, its text, and what its comment has it checked with."""
    for found in re.finditer(r'^```(\w*)\n(.*?)^```|(?:^    [^\n]*\n)+', text, re.DOTALL | re.MULTILINE):
        comment = re.search(r'<!-- checked with (.*) -->\s*\Z', text[:found.start()])
        kind, block = ('indented', textwrap.dedent(found[0])) if found[2] is None else (found[1], found[2])
        yield kind, block, shlex.split(comment[1]) if comment else []


def check_yaml(page, block, settings):
    (empty / 'block.yaml').write_text(block)
    is_whole = all(re.search(f'^{part}:', block, re.MULTILINE) for part in ('data', 'model', 'train'))
    files = ['block.yaml'] if is_whole else ['base.yaml', 'block.yaml']
    done = run_in(empty, 'check', '--merge', *files, *(word for setting in settings for word in ('-s', setting)))
    if errors_but(done, absent):
        breaches.append(f'{page} shows YAML with a mistake:\n{done.stderr}')


def command_lines(line):
    """The words behind the program's name, once for each of the alternatives a|b."""
    shell = shlex.shlex(re.sub(r'(?<=\w)\\?\|(?=\w)', '¦', line), posix=True, punctuation_chars='|&;<>')
    shell.whitespace_split = True
    words = itertools.takewhile(lambda word: word[0] not in '|&;<>', shell)
    return itertools.product(*([placeholders.get(one, one) for one in word.split('¦')] for word in words))


def check_usage(words, page, is_span):
    """Where none of its files are, a right command line ends since a file is missing: mistakes of the line come before."""
    expected = absent + '|is not a run|has no chain.jsonl|no checkpoint of|no directory of Hugging Face'
    if is_span:
        expected += '|(RUN|CONFIG|INPUT|FORMAT|SHELL|KIND) is required|expects a value'
    done = run_in(empty, *words)
    configs = [word for word in words if re.fullmatch('configs/.*yaml', word) and (root / word).exists()]
    settings = [word for flag, value in itertools.pairwise(words) if flag == '-s' for word in ('-s', value)]
    if configs and settings and 'sweep' not in words and not errors_but(done, expected):
        done = run_in(root, 'check', '--merge', *configs, *settings)
    if errors_but(done, expected):
        breaches.append(f'{page} shows `trainer {shlex.join(words)}`:\n{done.stderr}')


def anchors(text):
    """What GitHub makes of the headings."""
    return {re.sub(r'[^\w -]', '', heading.lower()).replace(' ', '-')
            for heading in re.findall(r'^#+ (.*)', text, re.MULTILINE)}


def times_of_day(text):
    """Outside of code; durations as 02:00:00 are none."""
    prose = re.sub(r'`[^`]*`', '', re.sub(r'^```.*?^```', '', text, flags=re.DOTALL | re.MULTILINE))
    lines = [line for line in prose.splitlines() if not line.startswith('    ')]
    return re.findall(r'(?<![\d:.])(?:[01]?\d|2[0-3]):[0-5]\d(?![:\d])', '\n'.join(lines))


def check_page(page, text):
    for time in times_of_day(text):
        breaches.append(f'{page} holds a time of day: {time}')
    folder = (root / page).parent
    for target, anchor in re.findall(r'\]\(([^)#\s]*)#?([^)\s]*)\)', text):
        linked = folder / target if target else root / page
        if '://' in target:
            continue
        if not linked.exists():
            breaches.append(f'{page} links to {target}, which does not exist')
        elif anchor and anchor not in anchors(linked.read_text()):
            breaches.append(f'{page} links to {target}#{anchor}; no heading is called that')
    text_of_paths = re.sub('ninja -C .*', '', text)
    for path in re.findall(r'(?<![\w./-])(?:configs|docs|engine|datasets|models|cli|tests)/[\w./*-]+', text_of_paths):
        path = path.rstrip('.')
        if not re.search('NAME|SUBJECT|build/|datasets/mnist', path) and not any(root.glob(path)):
            breaches.append(f'{page} names {path}, which does not exist')
    for source, block in re.findall(r'<!-- quoted from (\S+) -->\n```\w*\n(.*?)```', text, re.DOTALL):
        if block not in (root / source).read_text():
            breaches.append(f'{page}: what it quotes from {source} does not stand there')
    compared = re.findall(r'```\n\$ trainer (.*)\n([^`]*(?:`[^`]+`[^`]*)*?)```', text)
    for command, shown in compared:
        printed = subprocess.run([trainer, *command.split()], cwd=root, env={}, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        if printed.rstrip() != shown.rstrip():
            breaches.append(f'{page}: `trainer {command}` does not print what the page shows:\n{printed}')
    for kind, block, settings in blocks(text):
        if kind == 'yaml' or kind == 'indented' and re.match('(data|model|train|blocks|vars|defaults|base):', block):
            check_yaml(page, block, settings)
    for code in codes(text.replace(' \\\n', ' ')):
        command = None if 'python3' in code else re.search(r'(?:^|[\s/])trainer\s+(.*)', code.split(' #')[0])
        if command:
            check_command(page, re.sub(r'[|;&>].*', '', command[1]).split())
            for words in command_lines(command[1]) if command[1] not in dict(compared) else ():
                if words and not {'fetch', '...', '$@', '.', '[DATA]'} & set(words):
                    usages.setdefault(words, (page, f'`{code}`' in text))
        flag = re.match(r'--[a-z-]+', code)
        if flag and flag[0] not in known | launcher_flags:
            breaches.append(f'{page}: no command knows {flag[0]}')


common = flags_of()
verbs = {verb: flags_of(verb) for verb in re.findall(r'^  ([a-z-]+)  ', output('--help').split('Subcommands:')[1], re.M)}
known = common.union(*verbs.values())
folder = tempfile.TemporaryDirectory()
empty = pathlib.Path(folder.name)
(empty / 'base.yaml').write_text('data: {dataset: digits}\nmodel: {layers: [{dense: $classes}], loss: softmax_cross_entropy}\n'
                                 'train: {epochs: 1}\n')
for name, arguments in made.items():
    if (root / name).read_text() != output(*arguments):
        breaches.append(f'{name} is not what the program makes: trainer {" ".join(arguments)} > {name}')
for page in ['README.md', '.github/CONTRIBUTING.md', 'configs/README.md',
             *(path.relative_to(root).as_posix() for path in sorted(root.glob('docs/**/*.md')))]:
    check_page(page, (root / page).read_text())

with concurrent.futures.ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda usage: check_usage(usage[0], *usage[1]), usages.items()))

for config in root.glob('configs/*.yaml'):
    if f']({config.name})' not in (root / 'configs/README.md').read_text():
        breaches.append(f'configs/README.md does not list {config.name}')

results = subprocess.run([sys.executable, root / 'tests/benchmarks/results.py', root, '--check'], capture_output=True, text=True)
breaches += results.stdout.splitlines() + results.stderr.splitlines()
architecture = (root / 'docs/architecture.md').read_text()
if len(architecture.split()) > 1500:
    breaches.append(f'docs/architecture.md has {len(architecture.split())} words, more than 1,500')

print('\n'.join(breaches))
sys.exit(1 if breaches else 0)
