"""Counts words that docs/glossary.md rules out, in code, messages, keys, tests and docs.

Usage: words_test.py PROJECT_ROOT; prints where a word occurs more often than its budget allows and ends with 1.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
# Word -> (the glossary's word, how often it may still occur). A budget only shrinks; all of them end at 0.
ruled_out = {
    r'tells?|told|telling': ('notify, report', 0),
    r'goes on|go on|going on|went on': ('resume, continue', 0),
    r'pictures?': ('image', 0),
    r'(?<!negative_)(?<!formerly\(")slopes?': ('derivative; `negative_slope` is the setting', 0),
    r'wants?|wanted': ('require, expect', 0),
    r'workplaces?|seats?|last_words': ('mesh and threads, CPU affinity, exit reason', 0),
    r'teams?|batch_sum': ('all-reduce of statistics', 0),
    r'deals? out|dealt': ('distribute, partition', 0),
    r'owned parameters?': ('optimizer shard', 0),
    r'endured?': ('allowed, without improvement', 0),
    r'nobody|everybody|somebody|anybody': ('the object that is meant', 0),
    r'says?|said': ('report, show, predict', 0),
    r'whoever|himself|herself': ('the object that is meant', 0),
    r'kin': ('similar optimizers, functions', 0),
    r'go_on|exact_blocks|blocks_of|keep_block|gradient_of_block': ('resume; virtual workers', 0),
}
exempt = {'docs/glossary.md', 'tests/architecture/words_test.py'}
suffixes = {'.cpp', '.h', '.py', '.sh', '.md', '.build', '.yaml', '.txt'}

files = [root / 'README.md', root / 'meson.build', root / 'meson_options.txt']
for top in ('cli', 'configs', 'datasets', 'docs', 'engine', 'models', 'tests'):
    files += sorted(path for path in (root / top).rglob('*') if path.is_file() and path.suffix in suffixes)
texts = {path.relative_to(root).as_posix(): path.read_text() for path in files}

glossary_rows = [line for line in (root / 'docs/glossary.md').read_text().splitlines() if line.startswith('|')]
malformed = [row for row in glossary_rows if not re.fullmatch(r'\|[^|]+\|[^|]+\|[^|]+\|', row)]
for row in malformed:
    print(f'docs/glossary.md: a row without exactly three cells: {row}')
failed = bool(malformed)
for word, (right, budget) in ruled_out.items():
    pattern = re.compile(rf'(?<![a-zA-Z])(?:{word})(?![a-zA-Z])', re.IGNORECASE)
    places = [(name, match) for name, text in texts.items() if name not in exempt for match in pattern.finditer(text)]
    print(f'{len(places):5} of {budget:4}  {word}  (use: {right})')
    failed = failed or len(places) > budget
    if len(places) > budget or '--show' in sys.argv:
        for name, match in places:
            text = texts[name]
            line = text[text.rfind('\n', 0, match.start()) + 1:].partition('\n')[0]
            print(f'{name}:{text.count(chr(10), 0, match.start()) + 1}: {line.strip()}')
sys.exit(1 if failed else 0)
