"""Flips a bit of a parameter, or of an optimizer state, in the memory of a process that trains.

Usage: flip_bit.py CHECKPOINT TENSOR shared|private PID...
TENSOR is a dense weight of the checkpoint, which must not change any more (learning rate 0). Its fourth row is searched
for in shared windows, or in memory of the processes' own; ends with 1 when nothing was found, with 77 when the system
does not let us write there.
"""
import json
import pathlib
import struct
import sys


def tensor(file, name):
    content = file.read_bytes()
    length, = struct.unpack('<Q', content[:8])
    entry = json.loads(content[8:8 + length]).get(name)
    if entry is None:
        return None
    first, last = entry['data_offsets']
    units, inputs = entry['shape']
    numbers = struct.unpack(f'<{units * inputs}f', content[8 + length + first:8 + length + last])
    return [[numbers[unit * inputs + i] for unit in range(units)] for i in range(inputs)]


checkpoint, name, kind, *processes = sys.argv[1:]
rows = next(filter(None, (tensor(pathlib.Path(checkpoint) / f'{part}.safetensors', name)
                          for part in ('model', 'optimizer'))))
pattern = struct.pack(f'<{len(rows[3])}f', *rows[3])
flipped = 0
for process in processes:
    for line in pathlib.Path(f'/proc/{process}/maps').read_text().splitlines():
        place, rights, *_ = line.split()
        is_window = '/dev/shm/trainer' in line
        is_own = len(line.split()) == 5 or '[heap]' in line
        if not rights.startswith('rw') or not (is_window if kind == 'shared' else is_own):
            continue
        first, last = (int(end, 16) for end in place.split('-'))
        try:
            with open(f'/proc/{process}/mem', 'r+b', buffering=0) as memory:
                memory.seek(first)
                content = memory.read(last - first)
                at = content.find(pattern)
                while at >= 0:
                    # The third byte of a float: half of its fraction. Copies in old messages do no harm.
                    memory.seek(first + at + 2)
                    memory.write(bytes([content[at + 2] ^ 4]))
                    flipped += 1
                    at = content.find(pattern, at + len(pattern))
        except PermissionError:
            sys.exit(77)
        except (OSError, ValueError):
            continue
    if flipped and kind == 'shared':
        break
print(flipped, 'flipped')
sys.exit(0 if flipped else 1)
