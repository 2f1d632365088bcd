"""Compares README.md, docs/ and the list of configs with the program: made files, links, paths, quoted code, commands,
flags, shown output; and no page may hold a time of day.

Usage: pages_test.py TRAINER PROJECT_ROOT; prints every breach and ends with 1.
"""
import pathlib
import re
import subprocess
import sys

trainer, root = sys.argv[1], pathlib.Path(sys.argv[2])
breaches = []
made = {'docs/config.schema.json': ['schema'], 'docs/keys.md': ['schema', '--keys']}
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
    for command, shown in re.findall(r'```\n\$ trainer (.*)\n([^`]*(?:`[^`]+`[^`]*)*?)```', text):
        printed = subprocess.run([trainer, *command.split()], cwd=root, env={}, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        if printed.rstrip() != shown.rstrip():
            breaches.append(f'{page}: `trainer {command}` does not print what the page shows:\n{printed}')
    for code in codes(text):
        command = None if 'python3' in code else re.search(r'(?:^|[\s/])trainer\s+(.*)', code.split(' #')[0])
        if command:
            check_command(page, re.sub(r'[|;&>].*', '', command[1]).split())
        flag = re.match(r'--[a-z-]+', code)
        if flag and flag[0] not in known | launcher_flags:
            breaches.append(f'{page}: no command knows {flag[0]}')


common = flags_of()
verbs = {verb: flags_of(verb) for verb in re.findall(r'^  ([a-z-]+)  ', output('--help').split('Subcommands:')[1], re.M)}
known = common.union(*verbs.values())
for name, arguments in made.items():
    if (root / name).read_text() != output(*arguments):
        breaches.append(f'{name} is not what the program makes: trainer {" ".join(arguments)} > {name}')
for page in ['README.md', '.github/CONTRIBUTING.md', 'configs/README.md',
             *(path.relative_to(root).as_posix() for path in sorted(root.glob('docs/**/*.md')))]:
    check_page(page, (root / page).read_text())

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
