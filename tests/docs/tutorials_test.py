"""Runs a tutorial as its reader would: writes the files that it shows, then runs its ```sh blocks, in order.

Usage: tutorials_test.py TRAINER PAGE; prints the command that failed, or the mistake of a configuration, and ends with 1.

A fenced block of a file follows a line that begins with its name: "`digits.yaml`:". Indented lines are not run, and a script of
Python only where its modules are installed.
"""
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'end_to_end'))
from generated_data import png

trainer, page = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
draw = random.Random(1)


def write_png(path, side, color):
    """Random pixels around a color."""
    pixels = bytes(min(255, max(0, int(draw.gauss(level, 60)))) for _ in range(side * side) for level in color)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(3, side, side, pixels))


def write_flowers():
    colors = {'daisy': (200, 200, 180), 'rose': (180, 60, 80), 'tulip': (200, 160, 40)}
    for split, count in (('train', 20), ('val', 5)):
        for name, color in colors.items():
            for number in range(count):
                write_png(pathlib.Path(f'flowers/{split}/{name}/{number}.png'), 40 + number, color)


def write_pumps():
    lines = ['pressure,temperature,vibration,hours,maker,serviced,state']
    for _ in range(300):
        hours = draw.uniform(0, 6000)
        vibration = 0.2 + hours / 8000 + draw.gauss(0, 0.05)
        temperature = '' if draw.random() < 0.05 else f'{60 + hours / 300 + draw.gauss(0, 2):.1f}'
        lines.append(f'{draw.gauss(4, 0.2):.1f},{temperature},{vibration:.2f},{hours:.0f},{draw.choice(["Acme", "Borg"])},'
                     f'{draw.choice(["yes", "no"])},' + ('worn' if vibration > 0.6 else 'good'))
    pathlib.Path('pumps.csv').write_text('\n'.join(lines) + '\n')


def write_letters():
    words = 'Dear friend the garden is green and the days are long write soon yours'.split()
    pathlib.Path('letters.txt').write_text(' '.join(draw.choice(words) for _ in range(4000)))


def lacks_modules(line):
    script = re.match(r'python3 (\S+)', line)
    if not script:
        return False
    imports = ''.join(f'import {module}\n' for module in re.findall(r'^import (\S+)', pathlib.Path(script[1]).read_text(), re.MULTILINE))
    return subprocess.run(['python3', '-c', imports], stderr=subprocess.DEVNULL).returncode != 0


before = {'images': write_flowers, 'tables': write_pumps, 'texts': write_letters}

with tempfile.TemporaryDirectory() as folder:
    text = page.read_text()
    os.chdir(folder)
    before.get(page.stem, lambda: None)()
    environment = os.environ | {'HOME': folder, 'PATH': f'{trainer.parent}:{os.environ["PATH"]}'}
    ran = 0
    for name, kind, block in re.findall(r'(?:^`([^`]+)`[^\n]*\n\n)?^```(\w+)\n(.*?)^```', text, re.MULTILINE | re.DOTALL):
        if name:
            pathlib.Path(name).write_text(block)
        for line in block.splitlines() if kind == 'sh' else ():
            if lacks_modules(line):
                print(f'not run, without its modules: {line}')
                continue
            done = subprocess.run(['sh', '-c', line], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=100)
            ran += 1
            if done.returncode:
                sys.exit(f'{page.name}: `{line}` ended with {done.returncode}:\n{done.stdout}')
    if ran == 0:
        sys.exit(f'{page.name} holds no ```sh block')
