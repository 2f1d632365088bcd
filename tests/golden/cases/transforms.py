"""What torchvision (Debian 12's python3-torchvision, 0.14) makes of images."""
import zlib

import torch
import torchvision.transforms.functional as T

from .golden_file import rounded, write


def colors():
    torch.manual_seed(zlib.crc32(b'colors'))
    image = torch.rand(3, 9, 12).double()
    image[:, 0] = image[0, 0]  # gray
    for name, change, factors in [('brightness', T.adjust_brightness, [0.6, 1.5]), ('contrast', T.adjust_contrast, [0.3, 1.7]),
                                  ('saturation', T.adjust_saturation, [0, 1.8]), ('hue', T.adjust_hue, [-0.3, 0.05, 0.5])]:
        for channels, x in [(1, image[:1]), (3, image)]:
            for number, factor in enumerate(factors):
                write(f'color_{name}_{number}_{channels}', {'x': x[None], 'y': change(x, factor)[None]}, kind='color',
                      change=name, factor=str(factor))


def tones():
    """posterize and equalize work on bytes."""
    torch.manual_seed(zlib.crc32(b'tones'))
    image = (256 * torch.rand(3, 24, 30) ** 2).to(torch.uint8)
    image[2] = 77  # constant
    pixels = image.double() / 255
    for name, change, factors in [('sharpness', T.adjust_sharpness, [0.1, 1.9]), ('solarize', T.solarize, [0.3, 1]),
                                  ('autocontrast', lambda x, _: T.autocontrast(x), [0])]:
        for number, factor in enumerate(factors):
            write(f'color_{name}_{number}', {'x': pixels[None], 'y': change(pixels, factor)[None]}, kind='color',
                  change=name, factor=str(factor))
    for name, changed in [('posterize', T.posterize(image, 5)), ('equalize', T.equalize(image))]:
        write(f'color_{name}', {'x': pixels[None], 'y': changed[None].double() / 255}, kind='color', change=name, factor='5')


def moved_and_scaled():
    """torchvision's (Debian 12's python3-torchvision, 0.14). map: from a place in the result to one in the image, both
    counted from the middle: column of column, column of row, shift; row of column, row of row, shift."""
    bilinear = T.InterpolationMode.BILINEAR
    image = rounded(3, 9, 12)
    for name, arguments in [('rotate', dict(angle=30.0)),
                            ('affine', dict(angle=-20.0, translate=[2, -1], scale=1.3, shear=[15.0, 0.0]))]:
        full = dict(dict(translate=[0, 0], scale=1.0, shear=[0.0, 0.0]), **arguments)
        if name == 'rotate':
            moved = T.rotate(image, **arguments, interpolation=bilinear)
            matrix = T._get_inverse_affine_matrix([0.0, 0.0], -arguments['angle'], [0.0, 0.0], 1.0, [0.0, 0.0])
        else:
            moved = T.affine(image, **full, interpolation=bilinear)
            matrix = T._get_inverse_affine_matrix([0.0, 0.0], full['angle'], [float(t) for t in full['translate']],
                                                  full['scale'], full['shear'])
        write(f'warp_{name}', {'x': image[None], 'map': torch.tensor(matrix), 'y': moved[None]}, kind='warp')
    for name, size in [('larger', [13, 25]), ('smaller', [4, 5]), ('both', [5, 20])]:
        resized = T.resize(image, size, interpolation=bilinear, antialias=True)
        write(f'resize_{name}', {'x': image[None], 'y': resized[None]}, kind='resize')
