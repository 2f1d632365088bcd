"""Files of weights, as their specifications have them: safetensors, and GGUF version 3. For huggingface.py."""
import json
import struct

import numpy


def write_safetensors(path, tensors):
    header, content = {'__metadata__': {'format': 'pt'}}, b''
    for name in sorted(tensors):
        data = tensors[name].tobytes()
        header[name] = {'dtype': 'F32', 'shape': list(tensors[name].shape), 'data_offsets': [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, 'little') + text + content)


def read_safetensors(path):
    content = path.read_bytes()
    size = int.from_bytes(content[:8], 'little')
    header, data = json.loads(content[8:8 + size]), content[8 + size:]
    types = {'F32': numpy.float32, 'I64': numpy.int64}
    return {name: numpy.frombuffer(data[slice(*entry['data_offsets'])], types[entry['dtype']]).reshape(entry['shape'])
            for name, entry in header.items() if name != '__metadata__'}


def read_gguf(path):
    """Keys and tensors, as the specification of version 3 has them."""
    content, at = path.read_bytes(), 4

    def take(form):
        nonlocal at
        value = struct.unpack_from('<' + form, content, at)[0]
        at += struct.calcsize('<' + form)
        return value

    def text():
        nonlocal at
        size = take('Q')
        at += size
        return content[at - size:at].decode()

    def value(kind):
        if kind == 9:
            kind, count = take('I'), take('Q')
            return [value(kind) for _ in range(count)]
        return text() if kind == 8 else take({4: 'I', 5: 'i', 6: 'f', 7: '?'}[kind])

    assert content[:4] == b'GGUF' and take('I') == 3
    tensors, keys = take('Q'), take('Q')
    metadata = {text(): value(take('I')) for _ in range(keys)}
    entries = [(text(), [take('Q') for _ in range(take('I'))], take('I'), take('Q')) for _ in range(tensors)]
    alignment = metadata['general.alignment']
    begin = -(-at // alignment) * alignment
    assert all(kind == 0 and offset % alignment == 0 for _, _, kind, offset in entries)
    return metadata, {name: numpy.frombuffer(content, numpy.float32, int(numpy.prod(extents)), begin + offset).reshape(extents[::-1])
                      for name, extents, _, offset in entries}
