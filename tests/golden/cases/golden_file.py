"""What all cases need: random values, and the files that hold the cases of a subject."""
import json
import pathlib
import struct

import torch

FOLDER = pathlib.Path(__file__).resolve().parent.parent
# Subject -> case -> (metadata, tensors as (shape, values)), in the order in which they are made.
made = {}
subject = None


def begin(name):
    """The cases that follow belong to this subject, after which their module of this folder is called."""
    global subject
    subject = name


def write(name, tensors, **metadata):
    """Keeps a case. Its file calls a tensor NAME/TENSOR and an entry of the metadata NAME/KEY."""
    made.setdefault(subject, {})[name] = (metadata, {
        key: (list(tensor.shape), tensor.detach().to(torch.float32).reshape(-1).tolist()) for key, tensor in tensors.items()})


def save(chosen):
    """Writes a safetensors file for each subject of `chosen`, its cases in alphabetical order."""
    for subject in sorted(chosen):
        cases = made[subject]
        header, data = {'__metadata__': {}}, b''
        for name, (metadata, tensors) in sorted(cases.items()):
            header['__metadata__'] |= {f'{name}/{key}': value for key, value in metadata.items()}
            for key, (shape, values) in tensors.items():
                packed = struct.pack(f'<{len(values)}f', *values)
                header[f'{name}/{key}'] = {'dtype': 'F32', 'shape': shape,
                                           'data_offsets': [len(data), len(data) + len(packed)]}
                data += packed
        text = json.dumps(header).encode()
        text += b' ' * (-len(text) % 8)
        (FOLDER / f'{subject}.safetensors').write_bytes(struct.pack('<Q', len(text)) + text + data)


def rounded(*shape):
    """Random doubles that float32 holds exactly."""
    return torch.randn(*shape).double()
