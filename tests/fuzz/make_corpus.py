"""Writes the inputs from which fuzzers start: make_corpus.py FOLDER. Equal runs write equal files. Inputs that Python alone
cannot write come from corpus/ beside this file."""
import base64
import gzip
import io
import json
import math
import pathlib
import random
import shutil
import struct
import sys
import tarfile
import zipfile
import zlib

corpus = pathlib.Path(sys.argv[1])
shutil.rmtree(corpus, ignore_errors=True)
shutil.copytree(pathlib.Path(__file__).parent / 'corpus', corpus)
random_values = random.Random(1)


def write(target, name, content):
    path = corpus / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def noise(count, bound=256):
    return bytes(random_values.randrange(bound) for _ in range(count))


def idx(extents, content, kind=8):
    return bytes([0, 0, kind, len(extents)]) + b''.join(struct.pack('>I', extent) for extent in extents) + content


def packed(content):
    return gzip.compress(content, mtime=0)


def idx_pair(labels, images):
    return struct.pack('<H', len(labels)) + labels + images


def tensors(named, metadata=None, padding=0):
    header, data = {}, b''
    if metadata:
        header['__metadata__'] = metadata
    for name, (dtype, shape, content) in named.items():
        header[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(',', ':')).encode() + b' ' * padding
    return struct.pack('<Q', len(text)) + text + data


write('gzip', 'plain', noise(40))
write('gzip', 'packed', packed(noise(40)))
write('gzip', 'zeros', packed(bytes(5000)))
write('gzip', 'two-members', packed(b'one') + packed(b'two'))
write('gzip', 'named', b'\x1f\x8b\x08\x08\0\0\0\0\0\x03name\0' + packed(b'text')[10:])
write('gzip', 'stored', gzip.compress(noise(20), compresslevel=0, mtime=0))

labels, images = idx([4], bytes([0, 1, 2, 1])), idx([4, 3, 2], noise(24))
write('idx', 'plain', idx_pair(labels, images))
write('idx', 'packed', idx_pair(packed(labels), packed(images)))
write('idx', 'channels', idx_pair(labels, idx([4, 3, 2, 2], noise(48))))
write('idx', 'numbers-of-4-bytes', idx_pair(labels, idx([4, 1, 1], noise(16), kind=0x0d)))
write('idx', 'absurd', idx_pair(labels, idx([2**32 - 1] * 3, noise(9))))

write('cifar10', 'one', b'\x03' + noise(3072))
write('cifar10', 'packed', packed(b'\x09' + bytes(3072)))
write('cifar10', 'bad-label', b'\x0a' + bytes(3072))

write('csv', 'plain', ';10c\na;b;c\n1;2.5;x\n-3;1e-4;y\n')
write('csv', 'types', 'a-1y\na;b;c;y\n1;yes;red;1\n?;no;;2\n3;NA;blue;3\n4;TRUE;red;4\n;;green;5\n')
write('csv', 'mixed', 'a-5y\na\ty\n1\t1\nx1\t2\nx2\t3\nx1\t4\n')
write('csv', 'indicator', 'a-41\n1,2,\n2,,3\n3,4,null\n\n4,5,6\n')
write('csv', 'weights', ',1@y\na,w,y\n1,0.5,u\n,0,v\n3,2e3,u\n')
write('csv', 'two-files', ',19y\na,b,y\n1,u,1\n2,,2\n1,v,1\n')
write('csv', 'quotes', ',10last\n"a ""b","c\nd",last\r\n1,2,"x\r\n"\r\n"3",4,\r\n')
write('csv', 'no-header', ',003\n1,2,3\n4,5,6\n')
write('csv', 'packed', b'\t102\n' + packed(b'a\tb\n1\t2\n'))
write('csv', 'no-numbers', ',10a\na,b\nx,nan\n,inf\n')

four = struct.pack('<4f', 1, 2, 3, 4)
write('safetensors', 'one', tensors({'dense1.weight': ('F32', [2, 2], four)}))
write('safetensors', 'two', tensors({'a': ('F32', [], four[:4]), 'b': ('F32', [0, 3], b'')}, {'step': '7'}, 5))
write('safetensors', 'counter', tensors({'bn.num_batches_tracked': ('I64', [], bytes(8)), 'w': ('F32', [4], four)}))
write('safetensors', 'halves', tensors({'w': ('F16', [4], four[:8])}))
write('safetensors', 'absurd', tensors({'w': ('F32', [2**40, 2**40], four)}))

scores = {'samples': 40, 'loss': 0.5, 'metrics': [0.25, 'nan']}
heading = 'epoch,time,train/loss,test/loss,lr,examples_per_second,comm_share,data_share\n'
step = {'step': 5, 'epoch': 1, 'split': 'train', 'loss': 0.5, 'lr': 0.1, 'examples_per_second': 9.5, 'comm_share': 0.1,
        'data_share': 0, 'time': 1.5}
tested = {'step': 5, 'epoch': 1, 'split': 'test', 'loss': None, 'confusion': [[3, 1], [0, 2]], 'time': 2}
write('run_log', 'whole', heading + '1,1.5,0.5,0.4,0.1,9.5,0.1,0\n2,3,0.4,0.4,0.1,9.5,0.1,0\n\0' + json.dumps(step) + '\n' + json.dumps(tested)
      + '\n' + json.dumps(step | {'step': 8}) + '\n')
write('run_log', 'empty-line', '\n\0\n')
write('run_log', 'cut', heading + '1,1.5,0.\0' + json.dumps(step)[:40])
write('run_log', 'absurd', heading + '9' * 30 + ',nan\n\0' + json.dumps(tested | {'step': 2**63 - 1, 'confusion': [[]], 'loss': 1e300}) + '\n')
data = {'format': 1, 'data': 'csv', 'sample': [2], 'classes': 2, 'class_names': ['wide', {'hex': 'e9'}], 'target': [],
        'positions': 0, 'vocabulary': 0, 'has_lengths': False, 'samples': {'train': 8, 'valid': 2, 'test': 0},
        'fingerprint': ['a.csv 12 bytes'], 'normalize': {'mean': [0.5, -1], 'deviation': [1, 2e-3]},
        'tokenizer': {'kind': '', 'definition': ''},
        'input': {'has_pixels': False, 'crop': 1.0, 'columns': [{'name': 'a', 'use': 'input'}, {'name': 'b', 'use': 'input'},
                  {'name': 'sort', 'use': 'target'}], 'separator': ',', 'header': 1, 'channels_first': False, 'array': ''}}
text = data | {'data': 'text', 'sample': [8], 'classes': 3, 'class_names': [], 'positions': 8, 'vocabulary': 3,
               'normalize': {'mean': [], 'deviation': []}, 'tokenizer': {'kind': 'characters', 'definition': 'abc'},
               'input': data['input'] | {'columns': []}}
write('data', 'table', json.dumps(data))
write('data', 'text', json.dumps(text, indent=1))
write('data', 'contradiction', json.dumps(text | {'vocabulary': 4}))
write('data', 'absurd', json.dumps(data | {'sample': [2**62, 2**62], 'classes': 2**63}))
write('image_list', 'labels', '1\nfile,size,label\na.png,3,dog\n"b, c.png",4, cat\n\nd.png,5,dog\n')
write('image_list', 'columns', 'c\nfile;a;b\na.png;1;0\nb.png;true;FALSE\n')
write('image_list', 'separator', 's\nfile\tlabel\na.png\tx|y\nb.png\t\n')
write('image_list', 'packed', b'1\n' + packed(b'file,label\na.png,1\n'))
write('image_list', 'json', '1\n{"file": "a.png", "label": "x"}\n{"file": "b.png", "label": 2}\n')
write('image_list', 'json-lists', '1\n{"file": "a.png", "label": ["x", "y"]}\r\n{"label": [], "file": "b.png"}')
write('image_list', 'json-columns', 'c\n{"file": "a.png", "a": 1, "b": false}\n')
write('rows', 'header', ',1ab\nb,key,a\n2,k,1\n4,k,"3"\n')
write('rows', 'no-header', ';0ab\n1;2\n3;x\n"4;5\n6;7\n')
write('rows', 'titles', ',2ab\na title\na,b\n1,2\n\n3,4')
write('rows', 'other-names', ',1ab\na,c\n1,2\n')
write('rows', 'types', ',1aBCx\nx,C,a,B\nyes,u,1,?\n,new,NA,1\nno,,nan,\n7,1,2,u\n')
write('rows', 'semicolons', ',0aA\n1;u\n?;v\n')
typed = data['input'] | {'columns': [{'name': 'a', 'use': 'input', 'kind': 'category', 'requires_value': False, 'has_indicator': False, 'fill': 0.0,
                                      'categories': ['u', {'hex': 'ff'}], 'missing': 0, 'others': 0},
                                     {'name': 'b', 'use': 'ignored', 'reason': 'no value'}]}
write('data', 'types', json.dumps(data | {'input': typed}))
state = {'format': 4, 'step': 12, 'epoch': 2, 'step_in_epoch': 2, 'steps_per_epoch': 5, 'evaluated': True, 'seed': 1,
         'data': 'set', 'config': 'train: {}', 'time': 1.5, 'epoch_time': 0.25, 'run_times': [1, 2, 3, 4, 5, 6], 'epoch_times': [0] * 6,
         'epoch_sums': scores, 'best': scores, 'best_step': 10, 'best_epoch': 2, 'last': None,
         'schedule': [0.1, 'inf', 3, 0],
         'files': {'model.safetensors': {'bytes': 520, 'crc32': 7}, 'optimizer.safetensors': {'bytes': 8, 'crc32': 0}}}
write('state', 'whole', json.dumps(state))
write('state', 'infinite', json.dumps(state | {'best': scores | {'loss': '-inf'}, 'evaluated': False}, indent=2))
write('state', 'absurd', json.dumps(state | {'step': 2**64 - 1, 'best_epoch': 2**31, 'time': 1e300}))
write('state', 'old', '{"format": 3}')

small = """data: {dataset: mnist, path: set}
model: {layers: [{dense: {units: 8, activation: relu}}, {dense: $classes}], loss: softmax_cross_entropy}
train: {epochs: 1, batch: 8, optimizer: {sgd: {lr: 0.1}}, metrics: [accuracy]}
"""
write('config', 'small', small)
write('config', 'blocks', """vars: {w: 3}
blocks: {b: {args: {n: 1, m: }, layers: [{conv: {filters: $n, kernel: 3, pad: same}}, {dropout: $m}]}}
defaults: {init: {uniform: 0.1}, conv: {bias: false}}
x-later: &rest [relu, {max_pool: 2}]
data: {dataset: {idx: {train_images: a, train_labels: b}}, augment: [{random_crop: {pad: 4}}, horizontal_flip]}
model:
  layers: [{b: {n: $w, m: 0.5, repeat: 2, name: x}}, {residual: {body: *rest, shortcut: conv}}, {dense: 10}]
  loss: mse
train: {<<: {epochs: 2}, batch: 1.0e2, optimizer: {sgd: {lr: 0.1}}, warmup: {steps: 5}, evaluate: {steps: 3}}
""")
write('config', 'base', 'base: other.yaml\n' + small)
write('config', 'aliases', 'x-0: &a [1, 1, 1]\nx-1: &b [*a, *a, *a]\nx-2: [*b, *b]\n' + small)
write('config', 'escapes', small + 'vars: {"\\u0041\\x07": "\\ud800 \\U0010FFFF"}\n')

for number, layer in enumerate([
        'relu', 'dense: 10', 'dense: {units: $classes, activation: tanh, bias: false}',
        'conv: {filters: 4, kernel: [3, 5], stride: 2, pad: 1, groups: 1, dilation: 2}',
        'conv: {filters: 6, kernel: 3, pad: same, groups: 3}', 'max_pool: {size: 2, stride: 1, pad: 1}',
        'avg_pool: {size: [2, 4]}', 'global_avg_pool', 'batch_norm: {momentum: 0.9, epsilon: 1.0e-5}', 'dropout: 0.5',
        'flatten', 'leaky_relu: 0.1', 'softmax', 'concat: [[{conv: {filters: 2, kernel: 1}}], [max_pool: 1]]',
        'residual: [{conv: {filters: 3, kernel: 3, pad: 1}}, batch_norm, relu]',
        'residual: {body: [{conv: {filters: 5, kernel: 3, pad: 1, stride: 2}}], shortcut: conv}',
        'residual: [{dense: {units: 1000000000}}, {dense: {units: 1000000000, repeat: 3}}]']):
    write('layer', f'{number:02}', layer + '\n')

for number, lines in enumerate([
        'train.epochs=3', 'train.optimizer.sgd.lr=1.0e-3\ntrain.batch=1e2', 'model.layers[0].conv.kernel=[1, 3]',
        'model.layers[3].dense=12', 'train.optimizer=sgd\ntrain.schedule=constant', 'vars.width=20',
        'blocks.pair.args.units=7', 'train.evaluate.steps=4', 'model.layers[1].pair.repeat=1000000000',
        'defaults.init={normal: 0.1}', 'train.steps=9', 'data.dataset.idx.train_images=x', 'train.metrics=[]',
        'model.layers[99999999999999999999]=relu', 'data.augment=[{random_crop: {pad: 4}}]', 'train.note=a=b']):
    write('overrides', f'{number:02}', lines + '\n')


def npy(kind, shape, content, order='False'):
    header = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b'\x93NUMPY\1\0' + struct.pack('<H', len(header)) + header + content


def archive(entries, method):
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w', method) as out:
        for name, content in entries.items():
            with out.open(zipfile.ZipInfo(name), 'w', force_zip64=True) as entry:
                entry.write(content)
    return file.getvalue()


def png(kind, depth, rows, more=b''):
    def chunk(name, content):
        body = name + content
        return struct.pack('>I', len(content)) + body + struct.pack('>I', zlib.crc32(body))
    size = struct.pack('>IIBBBBB', 4, len(rows), depth, kind, 0, 0, 0)
    data = zlib.compress(b''.join(b'\0' + row for row in rows))
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', size) + more + chunk(b'IDAT', data) + chunk(b'IEND', b'')


floats = npy('<f4', '(2, 2)', four)
write('npy', 'floats', b'\0' + floats)
write('npy', 'labels', b'\1' + npy('<i8', '(3,)', struct.pack('<3q', 0, 9, 4)))
write('npy', 'bytes', b'\0' + npy('|u1', '(2, 3, 1)', noise(6)))
write('npy', 'big-endian', b'\0' + npy('>i2', '()', b'\1\2'))
write('npy', 'objects', b'\0' + npy('|O', '(1,)', four))
write('npy', 'packed', b'\0' + packed(floats))

# Files that h5py 3.7 and libhdf5 1.10 wrote, packed: hdf5_test.cpp reads them, too.
for name, content in {
        'plain': 'eNrtWC1MAzEUfr3blrJAuPETCIaTyEkEAZZwZIIA4SdBMgQ/CSGEIEAxOdwpMoGYQCCRyEkkEolEIhEk4+va3uiRG4MQfkK/5Ntb29de+/reXV9PizOzPdmRLAlwTiny'
                '6DUaCvVBs6zb15VkSlaUvHR0PWu2Dav6nBo/rreyFARCuxFDNBE1LU4W/xHFoLAo5Joqjyl545h6hwelnT3I7dLupihv7Gw16zd3S1uv/TTf4XMZpWUfpsvjUrqyIqP0'
                'XCX1dJLqXUSC6JnzRxFrAj4NcRo6Ue1peLhodxyHSX+XkYPHKdcPYzPc/tZ9SIrnNbkYOsp0Fs/FnBHWFv88nrU/VTOm3pGSx7HvzPSn/Tcez/LJjJnx3Ipfr6nqRV34'
                'O3EacnMEjfAX70Z5Ej9TsCpYBmtgHbyfkqb2QB/Mg9PgIrgO7oNlsAKGYBWsgZfgFXgN1sEb8Ba8A+/BB/ARfBLbWCBKgRzsLhCDPR2aoDpetOKf23hmNlwsLCwsLCy+'
                'FMvzCzMMmYg+f9X62+v7Sl4NtNfT5/qwr72ezufzKfN8F88n/oYdnWg9vtuZfR4z1gc/cj53Y3l1K5/uVTm2R9k0ZXvfzafPEs7plV9uD3nzweRyonuFJBnlL10U2ae9'
                'Xc65GZlRjvAn/OPt+sfkfYUju3i8lcfNFuaWg+ZdxWqgXz7Jdrng5sjxDPVn8AKbSXc+',
        'chunks': 'eNrtmU1oE0EUx9/MfnQb23SDuF3jptmT5lAw6KVQDy00slBo68fBk2yICRGKhDRCxYI9ScWLePLQs+hFETx48JDSi0cP3hMoCIKCdw91d2emm526JagHpe93eTtv/jOz'
                'mXm8YV8eeQuXxzP5DIQYBqhgwiD7HDgntTk+t4TbLW5fUOEnUZ/N/Tk+v6y7frVSCdX7EmKdvsasAchxxKvMr4T2Bm+LKP1Ak7pOu3r7zkA8en+4blr8egprN7Xh4nfG'
                'SL43crzjV8TTlpbUrXN7T8qrc7+57rWl5YUwgkXedJXkvHIcI2l5QGd7RkR7hlmFOXSu49sJIi2l+ZUgAsKRObcY3LnRycCkAZMPeL8WnFjYTxW24glYiR6IIuYxosy0'
                '1rzbaKzW+RwQnXTov1VvrFY7sV/hmSfQdmrNevviBXGfuqyfqpujzKXy16T8GX5187K4ogfe0sjR+yfyXreAsTRIeG+QYJvle+PskOO7p5iV9TRF/5nrXYgP+yjGLGaL'
                'kj5t/mkr2Zb1dMh1EQRBEARBEAQ5zPrNmu9C3nayl3yzZXilZ+XaTkafve+2NhV41Rr9sbh0ZidUdSfyVrlcsuFLVn84PmvbX7+dth3HtKH9RuupL7ffMlV2+11rb3dC'
                't+weGXMK1Q14fX6k+Pj53BXWP/Xe9/v9+e8Fx7adQm4DvJO09+np7h4QSlK/CxAEQRAE+XsQ0KS6NPtngZBkXTquQ5uR1DwYwiq4cr3Z4PMolH6cYkPVeJWQJ//kfrB6'
                'Kj1UT02rNy5a8Y8btILllHomwdBDEARBkP+Wn0fhqFs=',
        'white': 'eNrtmb9OwzAQxn12S60gRGFpxZSREQEzAqlBnQABAyMSKkKCCTGUjYEBxIsw9hEYeRzeIMT1OY5NCgiBVJXvl+HT+c85vpwc5fLY7+0uJCuJMGgtGqItquTMWxrarv+UlVgf'
                'WJ+la6dxX5fbl9h/PO74MMvM6DzCrbPWsBreHfgv9LOdA6MnbLt8epXhuCHrbZSX2z9cl0TL+iBnr1qVFOSjFqLWVkULcTtVepqFGlsq62hepGObyM8znF8Nbs4uBtcb686v'
                '3bmSatj0S2rnfpn9G2PrKbksIverz+Fob79HQpb7S9Xn4108Rh3kcBVz3lHNeXf/xbzRYn18dZTvAAAAAABgNsinAP6o9xcAAAAA/hQSc1E90tYDicJ6pNPv1h99XVG+dL2L'
                '8t3+sa54NxXxmFRHm/SfYDPqaJdxBQAAAMCs8g4TkN7a',
        'links': 'eNrtmM9LW0EQx7+7+7Lue+ZXJRjR0G6PrWB6CGJRyBO1ehOs5xJT8NBaDCgYL7beItJzKV79A3rsQUqouUuhh15aJNAe2+bWS4nvxybG0GAPLSLMBx6zszs7O8y+y373'
                'FmYfxJxhhyuFFk3D4lDo3zPzM+MH7xcXZpe4/pzve9r5lflA58YWDgcDZBSeYeVjk8b424nBDl8xa2N9dZMjW5ZJfz2y8WxlbW0kbTal8EecYRwGJXkJWQ7ggjFp1oSx'
                'vHVuj3mRAruhb8EKPI20Qvq5N4p41QvRHwXjjPkVBxFqxNvBrRN2nkQYGyTYwlUx9dD+urw0N8e8grpv4u5f5kjEQ3unq0e9uG/iR41vXRJfjF/0e92JBYIgCIIgCIIg'
                '/jflR48L2JWTeuWkeopazD1CJYGG0KulQiGJYkSPl4BXR/K1H1nyJhXqlh5DXervqNvulKik0XD0F9QmMzh+Y0/7gROn1WqJV7JoxPQOatkXv0SyiaKcl3JQf0Px5jwy'
                '+/Zv/6V16ZODIAiCIIh/TFtLTQGcnWupbZ0uCpaEr8/6qFAjddSAt8Jexi/G4u317UMz9pEHvbjdLXUPtXvT0izbNtCR8wiFdBe5fuSawujItsr4kUZRx8+8GbihUS7e'
                'Xfd/58mPD5/OALSlgrA=',
        'others': 'eNrtmz1s2kAUx9+dIVhJqxKpakiXko12CUPUr6EBNbQZqga1HTJCW1eJlCALXEErVWGkGyNjxoyMGRk7ZsyYsWNGNvrsuwN8gAmUSDR9P+mfd757to+78zn3bP/c3np1'
                'e/H+IriYJoQgCv10JPXn/m1VnpOWSVuT9oSrfOaVxWT+sjy+7vfhXSbjenc01HmSIWFjQPyPbGfSWdc25fautGdPr/e8DMJibDO1bfrGu4Ej0k2vMuaN7Gi3TPiF0brb'
                'nItsU45gQx1Iu94AGnPdD+/f7my5VVfN3nw8pt+kbT0J9kuq+eRhsF9W2uqzYD/VqpVwsF9C2viYicVUfkawnzpMbWHScSX2ZExkyGmxaw2oeK73uKhL/or9tRx/AGLq'
                'jMOKCStHmPooy0Jj9o2a0N23N465No6jseHjOPGX15m/PVQ3hrXrbtjv8193en3VneWuVoPaXM53Me3+ehrx+61bzqd1O18qlT9POb+Jflbp1y933rC+7mTa+fVxd36H'
                '7k0EQRAEQRAEQRAE8a8zLi6jYkjKXjkuY2jxUM6Tq8KFgy80NV9xGfc5BRvynMIc4Z9b829zrb0IgiAIgriJVDeFvPQL/IPplMw7RrVQF255CiCKiqOSqBQqi8qhbFQV'
                'VUPVUQ3UMeoE1USdolqoX6gz1DnqAvUbdYlqoyCN/3WgTNSttKjPpaxX+4j6iSAIgiBmB4MFLX4i3pxihshQrwkZWnxgVP6k8ZUlSHgJpl7g+OGWG3Dw/Us3DhHGsros'
                'NvF43nl4yH7Uq4oBA3GZ5FTtMSp+Uu81USB7WjxlVDtRfIUgCIIgCIIgbuJ6akbPo+V3AhG1XgLx7VojotZFfqLd9ZL+XYH+HcTuNbeH/nxefHfBuH81xbX9BteTm/I3'
                'pmBjCTY6xvD2Gfy9eo0qczFOHKviuNbO7xdLaL8WysV9x7EKstzOF71ytQ62DkpWec8qWrLcOrSdb2gL+QL0Ne/Me3Py74Cm7a/2mn/kKubr/Yo//AW/wA==',
        'user': 'eNpjYBgFIxl0eri48XJJcYE5HBwMLAwCEAkmCPUfCti4UPkw/QlQmhFKd0DpFUwwcUawnARUXBBqPrq6kCBXV5Dq/2gAZo8BC4TmGI2yEQk8XB0DQHQElA9NpQwnmFDV'
                'VaClRw8K7WVkYIWYxQjjQ1IyIyNEgA2qDkYzA13GCHUfI1KKZQXSID4TExMjRBRiDjMjLEmzodk8YVDGQ7CfvwsoR8PyoQLzaNocBaNgyAJGYHnEBACo8yvH',
        'latest': 'eNrt1TFLw0AcBfB3d7EeIWLVSsHFfIQOHZzaRELJpvgJiouDCA6CdRADOuhkFqWLUJxcBMeOhTq46SQuQkeLi4ODmz7jpdbBxUklD3655JJcLv8L5CAMamP2jK20RppX'
                'k2PTVTL9t5WjcCEMlqR7Xx1dHdaQk8M3prElBJBzwEY0umYYc7w1LU3HHH6cjfj8OZkSBxRlQCohcuacMm36mO/6VQFiwp2FlRy5KGoUd7g3wtkrpacAS8ISUklL2dfC'
                '3HWI35b++MpmzQ8DQNvpOz6a6e6Wl/dqfjAPDF4gXVzT1k17enmyPahogVUSnxUdVNCByON9FT8GSipla34Dloj112vRxp9Nt7/WRJYsWbL850QVbqqARxG1qEM9ggfk'
                'yaUSebRIdVqniPYppia16IwuqE0duqIbuqMePdATvRB8/jZIk+ND8Mcj3wAkr1fR'}.items():
    write('hdf5', name, zlib.decompress(base64.b64decode(content)))

write('zip', 'stored', archive({'x.npy': floats, 'y.npy': npy('|u1', '(2,)', b'\0\1')}, zipfile.ZIP_STORED))
write('zip', 'deflated', archive({'x.npy': floats * 9, 'empty': b''}, zipfile.ZIP_DEFLATED))

write('image', 'colours', b'\3' + png(2, 8, [noise(12), noise(12)]))
write('image', 'gray-16', b'\2' + png(0, 16, [noise(8)]))
write('image', 'alpha', b'\3' + png(6, 8, [noise(16), noise(16), noise(16)]))
write('image', 'palette', b'\3' + png(3, 2, [b'\x1b'], bytes.fromhex('00000006504c5445ff00000000ff6ca1fd8e')))
for name, content in {
        'lossy': '5249464640000000574542505650382034000000d001009d012a0800080004006825b0027400f4aec444e800fee5ff8c683b5da74b7c7a1ab45756181fcedd65'
                 '621bf50d30000000',
        'lossless': '524946462e000000574542505650384c220000002f07c00100993244f43f3611d1ff0061b65149ce1f74af23188f418e09a07aa0ff00',
        'alpha': '524946467800000057454250565038580a00000010000000070000070000414c504821000000013fa0906d04c8df7606f74244448a0761b691c258c63296f3ff'
                 '9e4144ff03db07005650382030000000b001009d012a0800080005407c25b00274010ebb048000fed0e95c429f6978f5eb378f480a8bf9fcea5abfa75c000000',
        'blank': '5249464624000000574542505650384c180000002f2bc1310007d0842634a1ff010045faff9f22fa9ffaff35',
        'noise': '524946466e000000574542505650384c620000002f03c000005fa0269224e552cad9c1f97771165ec2676445692329d0d90bb55224faef034db04a2349528ec1'
                 '7f2e5fef289dcfbf8ac4fc07320304c827571d14f55df3d8bb8c357fc072a0ba414d232950751f250af18205842037a2ff81bd9f2e01'}.items():
    write('image', 'webp-' + name, b'\3' + bytes.fromhex(content))
write('text', 'plain', 'To be, or not to be.\n')
write('text', 'wide', 'z\u00e4\u20ac\U0001f600z')
write('text', 'surrogate', b'a\xed\xa0\x80')
write('text', 'overlong', b'a\xc0\x80')
write('text', 'cut', b'abc\xf0\x9f\x98')
write('text', 'byte-order-mark', '\ufeffa')

write('merges', 'hello', 'hello hell w. hhell\0#version: 0.2\nh e\nl l\nhe ll\nhell o\n\u0120 w\n')
write('merges', 'many', 'aaaaaaaaaaaaaaaaaaa\0a a\naa aa\naaaa aaaa\r\n')
write('merges', 'numbers', "it's 12  345 \u00e9t\u00e9 \u2014 x\n\n\0' s\n1 2\n\u010a \u010a\n\u00c3 \u00a9\n")
write('merges', 'no-text', '\0a b\n')
write('merges', 'bytes', bytes(range(1, 256)) + b'\0\xc4\xa0 \xc4\xa0\n')
write('merges', 'three', 'a\0a b c\n')
write('merges', 'unknown', 'a\0ab c\n')
write('merges', 'no-letter', b'a\0a \xff\n')

letters = [chr(byte) for byte in range(256) if 33 <= byte <= 126 or 161 <= byte != 173]
letters += [chr(256 + i) for i in range(256 - len(letters))]
vocabulary = {piece: token for token, piece in enumerate(letters + ['he', 'll', '<|endoftext|>'])}
merges = '#version: 0.2\nh e\nl l\n'
splitter = {'type': 'ByteLevel', 'add_prefix_space': False}


def compact(value):
    return json.dumps(value, separators=(',', ':'), ensure_ascii=False)


write('gpt2', 'two-files', 'hello<|endoftext|> \u20ac\0' + compact(vocabulary) + '\0' + merges)
write('gpt2', 'lacks', 'hello\0' + compact({'h': 0}) + '\0' + merges)
write('gpt2', 'tokenizer', 'hello<|end|>\0' + compact({
    'added_tokens': [{'id': len(vocabulary), 'content': '<|end|>'}], 'normalizer': None, 'pre_tokenizer': splitter,
    'model': {'type': 'BPE', 'vocab': vocabulary, 'merges': ['h e', ['l', 'l']]}}))
write('gpt2', 'characters', 'b\na\0' + compact({
    'pre_tokenizer': {'type': 'Split', 'pattern': {'Regex': r'[\s\S]'}}, 'model': {'type': 'WordLevel', 'vocab': {'\n': 0, 'a': 1, 'b': 2}}}))
write('gpt2', 'small', 'a\0' + compact({'model': {'vocab': {'a': 0}, 'merges': []}, 'pre_tokenizer': splitter}))


def message(*fields):
    """Of Protocol Buffers: pairs of a number and a count below 128, a float or bytes."""
    parts = {int: lambda number, value: bytes([number << 3, value]),
             float: lambda number, value: bytes([number << 3 | 5]) + struct.pack('<f', value),
             bytes: lambda number, value: bytes([number << 3 | 2, len(value)]) + value}
    return b''.join(parts[type(value)](number, value) for number, value in fields)


def sentencepieces(model_type, pieces):
    return b'\1' + message((1, message((1, b'<unk>'), (2, 0.0), (3, 2))), *((1, message((1, piece), (2, -1.0 - i))) for i, piece in enumerate(pieces)),
                           (2, message((3, model_type))), (3, message((1, b'identity'), (3, 0), (4, 0))))


write('gpt2', 'unigram', sentencepieces(1, [b'a', b'b', b'ab', b'\xe2\x96\x81b']))
write('gpt2', 'bpe', sentencepieces(2, [b'ab', b'a', b'b', b'bb']))
write('gpt2', 'empty-piece', sentencepieces(1, [b'a', b'\0']))

write('cifar100', 'fine', b'\0\x13\x63' + noise(3072))
write('cifar100', 'coarse', b'\1\x13\x63' + noise(3072))
write('cifar100', 'packed', b'\0' + packed(b'\x02\x09' + bytes(3072)))
write('cifar100', 'bad-label', b'\1\x14\0' + bytes(3072))

gpt2 = {'model_type': 'gpt2', 'n_layer': 2, 'n_embd': 8, 'n_head': 2, 'vocab_size': 11, 'n_positions': 16}
llama = {'model_type': 'llama', 'num_hidden_layers': 1, 'hidden_size': 8, 'num_attention_heads': 4, 'num_key_value_heads': 2,
         'intermediate_size': 12, 'vocab_size': 11, 'max_position_embeddings': 64, 'rope_parameters': {'rope_theta': 5e5}}
write('transformer', 'gpt2', json.dumps(gpt2))
write('transformer', 'llama', json.dumps(llama))
write('transformer', 'scaled', json.dumps(llama | {'rope_scaling': {'rope_type': 'llama3'}}))
write('transformer', 'types', json.dumps(gpt2 | {'n_inner': [], 'layer_norm_epsilon': '1'}))
resnet = {'model_type': 'resnet', 'embedding_size': 8, 'hidden_sizes': [16, 24], 'depths': [1, 2], 'layer_type': 'bottleneck'}
write('transformer', 'resnet', 'r' + json.dumps(resnet))
write('transformer', 'resnet-types', 'r' + json.dumps(resnet | {'depths': [1, '2'], 'downsample_in_bottleneck': True}))
write('transformer', 'index', 'i' + json.dumps({'metadata': {'total_size': 4}, 'weight_map': {'a': 'a', 'b': 'a'}}))
write('transformer', 'index-elsewhere', 'i' + json.dumps({'weight_map': {'a': '../a'}}))
names = {'wte.weight': [3, 2], 'wpe.weight': [2, 2], 'h.0.ln_1.weight': [2], 'h.0.ln_1.bias': [2], 'h.0.attn.c_attn.weight': [2, 6],
         'h.0.attn.c_attn.bias': [6], 'h.0.attn.bias': [1, 1]}
header, offset = {}, 0
for name, shape in names.items():
    size = 4 * math.prod(shape)
    header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [offset, offset + size]}
    offset += size
header = json.dumps(header, separators=(',', ':')).encode()
write('transformer', 'weights', b's' + struct.pack('<Q', len(header)) + header + noise(offset))


def tar(members, form=tarfile.USTAR_FORMAT):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode='w', format=form) as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


long_name = 'l' * 120 + '/' + 'n' * 80
samples = [('a/0.cls', b'1'), ('a/0.jpg', noise(20)), (long_name + '.cls', b'0\n'), (long_name + '.jpg', noise(600))]
for name, form in ('ustar', tarfile.USTAR_FORMAT), ('gnu', tarfile.GNU_FORMAT), ('pax', tarfile.PAX_FORMAT):
    write('tar', name, tar(samples, form))
    write('tar', name + '-right-sums', b'\2' + tar(samples, form))
write('tar', 'values', tar([('0.npy', noise(9)), ('0.target.npy', noise(5)), ('0.json', b'{}')]))
write('tar', 'index', b'\1trainer tar index 1\nbytes 8192\nimage 512 3 00000000 class 7\nimage 1024 4 00000000 class 0\n')
write('tar', 'index-values', b'\1trainer tar index 1\nbytes 8192\narray 512 3 00000000 values 1024 4 00000000\n')
