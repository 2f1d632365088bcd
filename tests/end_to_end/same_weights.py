"""Records the weights of every config after some steps, so that a later program can be compared with an earlier one.

Usage: same_weights.py TRAINER CONFIGS record FILE [--only NAME,...] [--steps N]
       same_weights.py TRAINER CONFIGS compare FILE [--only NAME,...]

Each config trains on generated data (every_config.py), normally on one thread, and in exact mode on 3 ranks. The file keeps
a SHA-256 of each tensor of model.safetensors. Bits depend on the processor: record and compare on the same machine.
"""
import argparse
import hashlib
import json
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
from every_config import settings_of, write_data
from exact_matrix import Placement, run

RUNS = {'normal': (Placement(), []), 'exact': (Placement(3, '--datapar'), ['train.exact=true'])}


def tensor_hashes(file):
    content = file.read_bytes()
    begin = 8 + int.from_bytes(content[:8], 'little')
    hashes = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name != '__metadata__':
            first, last = entry['data_offsets']
            hashes[name] = hashlib.sha256(content[begin + first:begin + last]).hexdigest()
    return hashes


def weights_of(trainer, config, steps, environment):
    text = config.read_text()
    found = {}
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent)
        write_data(text, folder, False)
        for kind, (placement, more) in RUNS.items():
            kept = folder / f'{kind}.safetensors'
            # Three ranks of one sample each would be too few for batch_norm.
            result, _ = run([trainer], config, placement, settings_of(config.stem, text, folder, steps) + more, environment, kept)
            found[kind] = tensor_hashes(kept) if kept.exists() else result
    return found


def difference(before, after):
    """In words; empty where both are the same."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return '' if before == after else f'before: {str(before)[:60]}; after: {str(after)[:60]}'
    lost, new = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    changed = sorted(name for name in before.keys() & after.keys() if before[name] != after[name])
    return '; '.join(f'{what}: {", ".join(names[:4])} ({len(names)})'
                     for what, names in (('gone', lost), ('new', new), ('differ', changed)) if names)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trainer', type=pathlib.Path)
    parser.add_argument('configs', type=pathlib.Path)
    parser.add_argument('verb', choices=['record', 'compare'])
    parser.add_argument('file', type=pathlib.Path)
    parser.add_argument('--only', help='names, with commas between them')
    parser.add_argument('--steps', type=int, default=20)
    arguments = parser.parse_args()
    configs = sorted(arguments.configs.glob('*.yaml'))
    if arguments.only:
        configs = [config for config in configs if config.stem in arguments.only.split(',')]
    recorded = json.loads(arguments.file.read_text()) if arguments.file.exists() else {}
    steps = arguments.steps if arguments.verb == 'record' else recorded['steps']
    environment = {key: value for key, value in os.environ.items() if key != 'TRAINER_DATA'}
    failed = 0
    for config in configs:
        if arguments.verb == 'compare' and config.stem not in recorded:
            print(config.stem, 'is not in the record', flush=True)
            failed += 1
            continue
        found = weights_of(arguments.trainer.resolve(), config, steps, environment)
        if arguments.verb == 'record':
            recorded |= {'steps': steps, config.stem: found}
            arguments.file.write_text(json.dumps(recorded, indent=1))
            print(config.stem, *(kind if isinstance(hashes, dict) else f'{kind}: {hashes}' for kind, hashes in found.items()),
                  flush=True)
            continue
        problems = {kind: difference(recorded[config.stem][kind], hashes) for kind, hashes in found.items()}
        print(config.stem, ', '.join(f'{kind} {problem or "same"}' for kind, problem in problems.items()), flush=True)
        failed += any(problems.values())
    if arguments.verb == 'compare':
        print(f'{len(configs) - failed} of {len(configs)} configs have the recorded weights')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
