"""snapshot_kills.py TRAINER KILLS [RANKS]: a run in exact mode that keeps a snapshot every 20 steps, and on the disk its best checkpoint
only, loses a rank KILLS times to SIGKILL. Each restart repeats at most 20 steps, and the end has the weights, the optimizer's state and
the metrics of an undisturbed run. Prints a row for each kill; the seconds until training resumes are for information."""
import hashlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

EVERY, EVALUATE = 20, 90
CONFIG = '''
data: {{dataset: digits, fraction: 0.05, augment: [{{random_crop: {{pad: 2}}}}]}}
model:
  layers:
    - conv: {{filters: 4, kernel: 3}}
    - batch_norm
    - relu
    - max_pool: 2
    - dense: {{units: 40, activation: relu}}
    - dropout: 0.3
    - dense: 10
  loss: softmax_cross_entropy
train:
  steps: {steps}
  batch: 64
  optimizer: {{adam: {{lr: 0.002}}}}
  ema: 0.99
  exact: true
  metrics: [accuracy]
  log_every: 1
  evaluate: {{steps: {evaluate}}}
  checkpoint: {{steps: 1000000000}}
  snapshot: {{steps: {every}}}
'''


def seal(run, name):
    return hashlib.sha256((run / 'checkpoints/last' / name).read_bytes()).hexdigest()


def last_step(run):
    try:
        with open(run / 'metrics.jsonl', 'rb') as file:
            file.seek(max(0, file.seek(0, 2) - 2000))
            lines = file.read().split(b'\n')
        return int(re.search(rb'"step":(\d+)', lines[-2]).group(1)) if len(lines) > 1 else 0
    except (OSError, AttributeError, IndexError):
        return 0


def starts(run):
    """The steps after which the run was resumed."""
    return sorted(int(path.stem.split('-')[1]) for path in run.glob('environment-*.json'))


def trains(run, begin):
    """Whether a step is done since the run was resumed after step `begin`."""
    try:
        resumed = (run / f'environment-{begin}.json').stat().st_mtime_ns
        return (run / 'metrics.jsonl').stat().st_mtime_ns >= resumed and last_step(run) > begin
    except OSError:
        return False


def ranks_of(home):
    """The processes of the ranks: those with this HOME and a number from MPI."""
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/environ'):
        try:
            words = path.read_bytes().split(b'\0')
        except OSError:
            continue
        is_rank = any(word.startswith((b'OMPI_COMM_WORLD_RANK=', b'PMI_RANK=')) for word in words)
        if is_rank and b'HOME=' + home.encode() in words:
            found.append(int(path.parent.name))
    return found


def metrics(run):
    rows = [json.loads(line) for line in (run / 'metrics.jsonl').read_text().splitlines()]
    return [(row['step'], row['split'], row['loss'], row['accuracy']) for row in rows]


def main(trainer, kills, ranks=4):
    random.seed(kills)
    trainer = str(pathlib.Path(trainer).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        environment = {**os.environ, 'HOME': folder, 'OMPI_MCA_rmaps_base_oversubscribe': '1'}
        steps = 120 * kills + 150
        pathlib.Path('a.yaml').write_text(CONFIG.format(steps=steps, every=EVERY, evaluate=EVALUATE))
        words = [trainer, 'a.yaml', '-q', '--threads', '1']
        subprocess.run(words + ['-o', 'whole', '-s', 'train.snapshot={steps: 1000000}'], env=environment, check=True,
                       capture_output=True)
        run = pathlib.Path('killed')
        log = open('log', 'w+')
        process = subprocess.Popen(words + ['-o', 'killed', '-n', str(ranks), '--datapar', '--restarts', str(kills)],
                                   env=environment, stdout=log, stderr=log)
        failed, from_snapshots = False, 0
        known, begin = [], 0
        for kill in range(1, kills + 1):
            target = begin + random.randint(EVERY + 1, 110)
            while last_step(run) < target and process.poll() is None:
                time.sleep(0.001)
            time.sleep(random.random() * 0.01)
            alive = ranks_of(folder)
            if process.poll() is not None or not alive:
                break
            os.kill(random.choice(alive), signal.SIGKILL)
            killed = time.monotonic()
            time.sleep(0.1)
            lost_at = last_step(run)
            while starts(run) == known and process.poll() is None:
                time.sleep(0.002)
            # The lines after the snapshot's step are cut off, and training adds its first.
            new = [step for step in starts(run) if step not in known]
            begin = new[0] if new else begin
            while not trains(run, begin) and process.poll() is None:
                time.sleep(0.001)
            seconds = time.monotonic() - killed
            known = starts(run)
            repeated = lost_at - begin
            print(f'kill {kill} after step {lost_at} of {len(alive)} ranks: resumed after step {begin}, {repeated} steps '
                  f'repeated, {seconds:.1f} s', flush=True)
            from_snapshots += begin % EVERY == 0 and begin % EVALUATE > 0
            failed |= not new or not 0 <= repeated <= EVERY
        code = process.wait()
        log.seek(0)
        text = log.read()
        restarts = text.count('warning: ')
        if code != 0 or restarts != kills or from_snapshots == 0 or failed:
            print(f'ended with {code} after {restarts} restarts of {kills}:\n{text}')
            return 1
        for name in ('model.safetensors', 'optimizer.safetensors'):
            print(name, seal(pathlib.Path('whole'), name), seal(run, name), sep='\n  ')
            failed |= seal(pathlib.Path('whole'), name) != seal(run, name)
        if metrics(pathlib.Path('whole')) != metrics(run):
            failed = True
            print('the metrics differ')
        return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:4])))
