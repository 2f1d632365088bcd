"""What all cases need: random numbers, and the file that holds a case."""
import json
import pathlib
import struct

import torch

FOLDER = pathlib.Path(__file__).resolve().parent.parent


def write(name, tensors, **metadata):
    header, data = {'__metadata__': metadata}, b''
    for key, tensor in tensors.items():
        numbers = tensor.detach().to(torch.float32).reshape(-1).tolist()
        packed = struct.pack(f'<{len(numbers)}f', *numbers)
        header[key] = {'dtype': 'F32', 'shape': list(tensor.shape), 'data_offsets': [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    (FOLDER / f'{name}.safetensors').write_bytes(struct.pack('<Q', len(text)) + text + data)


def rounded(*shape):
    """Random doubles that float32 holds exactly."""
    return torch.randn(*shape).double()
