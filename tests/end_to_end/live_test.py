"""live_test.py TRAINER: `--live` serves the report of a run under way and nothing else, writes nothing, and changes no result.
Prints what fails and ends with 1."""
import hashlib
import http.client
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

CONFIG = '''
data: {dataset: digits, fraction: 0.01, validation: 0.2}
model: {layers: [{dense: 10}], loss: softmax_cross_entropy}
train: {epochs: 1000000, batch: 16, log_every: 1, checkpoint: never, metrics: [accuracy], optimizer: {sgd: {lr: 0.01}}}
'''
PATIENCE = 60  # seconds

trainer = sys.argv[1]
failures = []


def expect(what, holds):
    if not holds:
        failures.append(what)
        print('failed:', what)


def wait_for(what, attempt):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = attempt()
        if found:
            return found
        time.sleep(0.1)
    sys.exit(f'timed out: {what}')


def request(port, path='/', method='GET', host=None):
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=PATIENCE)
    connection.request(method, path, headers={'Host': host} if host else {})
    response = connection.getresponse()
    return response.status, response.read().decode(), response


class Run:
    """A run that does not end by itself."""

    def __init__(self, name, *words):
        self.errors = pathlib.Path(f'{name}.err')
        self.process = subprocess.Popen([trainer, *words, 'a.yaml', '-q', '-o', name], stderr=self.errors.open('w'),
                                        stdout=subprocess.DEVNULL)

    def port(self):
        def attempt():
            if self.process.poll() is not None:
                text = self.errors.read_text()
                if 'built without' in text:
                    print('skipped:', text)
                    sys.exit(77)
                sys.exit('the run ended: ' + text)
            return re.search(r'live: http://127\.0\.0\.1:(\d+)/', self.errors.read_text())
        return int(wait_for('an address', attempt)[1])

    def signals(self):
        status = pathlib.Path(f'/proc/{self.process.pid}/status').read_text()
        return re.findall(r'^Sig(?:Ign|Cgt):.*', status, re.MULTILINE)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


def check_page(port, folder):
    page = wait_for('curves', lambda: '<svg' in (text := request(port)[1]) and text)
    expect('the page renews itself', 'http-equiv="refresh"' in page)
    expect('the page states that the run is under way', 'Under way' in page)
    expect('the page has the configuration', 'batch: 16' in page)
    before = sorted(folder.iterdir())
    for path in ('/report.html', '/config.yaml', '/../config.yaml', '//etc/passwd', '/%2e%2e/config.yaml', '/?x=' + 'y' * 10000):
        expect(f'{path[:20]} is no file', request(port, path)[0] in (400, 404, 414))
    for method in ('POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'):
        expect(f'{method} does nothing', request(port, '/', method)[0] >= 400)
    expect('another name of this machine is refused', request(port, host='evil.example:80')[0] == 403)
    expect('localhost is not', request(port, host=f'localhost:{port}')[0] == 200)
    policy = request(port)[2].getheader('Content-Security-Policy')
    expect('the page may load nothing', "default-src 'none'" in policy)
    for bytes_sent in (b'\0\xff\r\n\r\n', b'GET / HTTP/1.1\r\nHost:', b''):
        with socket.create_connection(('127.0.0.1', port), PATIENCE) as client:
            client.sendall(bytes_sent)
    expect('it serves after clients that broke off', request(port)[0] == 200)
    expect('requests write nothing', sorted(folder.iterdir()) == before)


def weights(name, *words):
    subprocess.run([trainer, 'a.yaml', '-q', '-o', name, '-s', 'train.steps=20', '-s', 'train.checkpoint={epochs: 1}', *words],
                   check=True, capture_output=True, timeout=PATIENCE)
    return hashlib.sha256(next(pathlib.Path(name).glob('checkpoints/step-*/model.safetensors')).read_bytes()).hexdigest()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path('a.yaml').write_text(CONFIG)
    watched = Run('watched', '--live', '0')
    port = watched.port()
    check_page(port, pathlib.Path('watched'))
    second = subprocess.run([trainer, 'a.yaml', '-o', 'second', '--live', str(port)], capture_output=True, text=True,
                            timeout=PATIENCE)
    expect('a port in use is a mistake', second.returncode == 2)
    expect('the message names the port and the remedy',
           f'127.0.0.1:{port}' in second.stderr and 'in use' in second.stderr and 'another port' in second.stderr)
    expect('it leaves no run directory', not pathlib.Path('second').exists())
    plain = Run('plain')
    wait_for('steps', lambda: pathlib.Path('plain/metrics.jsonl').exists())
    expect('signals are those of a run without a page', watched.signals() == plain.signals())
    plain.end()
    expect('Ctrl-C stops the run', watched.end() == 1)  # with nothing saved
    with socket.socket() as client:
        expect('the page ends with the run', client.connect_ex(('127.0.0.1', port)) != 0)
    ranks = Run('ranks', '-n', '2', '--datapar', '--live', '0')
    wait_for('curves of two ranks', lambda: '<svg' in request(ranks.port())[1])
    ranks.end()
    expect('weights are the same', weights('with', '--live', '0') == weights('without'))

sys.exit(1 if failures else 0)
