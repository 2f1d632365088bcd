"""A web server on a free port of 127.0.0.1 that treats its files badly. Usage: server.py FOLDER PORT_FILE. It ends with its
standard input. /whole/F offers F; /corrupt/F with a byte changed; /cut/F ends after half; /long/F with bytes more;
/redirect/F leads to /whole/F, /away/F to a file of this machine; /absent/F is not there;
/plain/F cannot resume. Its requests are in FOLDER/requests.
"""
import http.server
import os
import pathlib
import re
import sys
import threading

folder, port_file = map(pathlib.Path, sys.argv[1:])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(folder / 'requests', 'a') as requests:
            print(self.path, self.headers.get('Range', 'whole'), file=requests)
        _, how, name = self.path.split('/')
        if how in ('redirect', 'away', 'absent'):
            self.send_response(404 if how == 'absent' else 302)
            self.send_header('Location', f'/whole/{name}' if how == 'redirect' else f'file://{folder / name}')
            self.end_headers()
            return
        content = (folder / name).read_bytes()
        if how == 'corrupt':
            content = bytes([content[0] ^ 1]) + content[1:]
        if how == 'long':
            content += bytes(1000)
        asked = re.fullmatch(r'bytes=(\d+)-', self.headers.get('Range', ''))
        first = int(asked[1]) if asked and how != 'plain' else 0
        self.send_response(206 if first else 200)
        if first:
            self.send_header('Content-Range', f'bytes {first}-{len(content) - 1}/{len(content)}')
        self.send_header('Content-Length', str(len(content) - first))
        self.end_headers()
        self.wfile.write(content[first:len(content) // 2 if how == 'cut' else None])

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
partial = port_file.with_suffix('.new')
partial.write_text(str(server.server_address[1]))
partial.rename(port_file)
sys.stdin.read()
os._exit(0)
