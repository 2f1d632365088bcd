"""Data sets that tests write: small, with something to learn, the same every time."""
import random
import zlib


def noisy_image(pattern, source):
    return bytes((a + b) // 2 for a, b in zip(pattern, source.randbytes(len(pattern))))


def samples(count, size, seed):
    """Labels, and images of noise around a pattern of their label."""
    patterns = [random.Random(f'pattern {label}').randbytes(size) for label in range(10)]
    source = random.Random(seed)
    labels = [source.randrange(10) for _ in range(count)]
    return labels, [noisy_image(patterns[label], source) for label in labels]


def write_mnist(folder, train, test):
    for name, count in (('train', train), ('t10k', test)):
        labels, images = samples(count, 784, name)
        sizes = [count.to_bytes(4, 'big'), (28).to_bytes(4, 'big')]
        (folder / f'{name}-labels-idx1-ubyte').write_bytes(bytes([0, 0, 8, 1]) + sizes[0] + bytes(labels))
        (folder / f'{name}-images-idx3-ubyte').write_bytes(
            bytes([0, 0, 8, 3]) + sizes[0] + sizes[1] + sizes[1] + b''.join(images))


def write_cifar10(folder, train, test):
    for name, count in (('data_batch_1', train), ('test_batch', test)):
        labels, images = samples(count, 3072, name)
        (folder / f'{name}.bin').write_bytes(
            b''.join(bytes([label]) + image for label, image in zip(labels, images)))


def write_text(file, letters):
    """Words of a few letters, so that there is something to learn."""
    source = random.Random('text')
    words = [''.join(source.choices('abcdefghij', k=source.randrange(1, 6))) for _ in range(30)]
    file.write_text(' '.join(source.choices(words, k=letters))[:letters])


def write_table(file, rows, columns, target, classes, header=0):
    """Numbers, and a class that follows from them, in column `target` (from 1); 0 classes: a number."""
    source = random.Random(str(file.name))
    lines = ['a title'] * header
    for _ in range(rows):
        numbers = [source.gauss(0, 1) for _ in range(columns - 1)]
        total = sum(numbers)
        answer = str(round(total, 4) if classes == 0 else int((total > 0) + (total > 2)) % classes)
        fields = [f'{number:.4f}' for number in numbers]
        lines.append(','.join(fields[:target - 1] + [answer] + fields[target - 1:]))
    file.write_text('\n'.join(lines) + '\n')


def write_diamonds(file, rows):
    """Numbers and texts with empty cells, and a price that follows from them."""
    source = random.Random(str(file.name))
    lines = ['"carat","cut","color","clarity","depth","table","price","x","y","z"']
    for _ in range(rows):
        texts = [source.randrange(3) for _ in range(3)]
        numbers = [round(source.uniform(0.2, 3), 2) for _ in range(6)]
        price = round(3000 * numbers[0] + 500 * sum(texts))
        fields = [str(numbers[0]), *(f'"{name}{i}"' for name, i in zip('abc', texts)), *map(str, numbers[1:3]), str(price),
                  *map(str, numbers[3:])]
        fields[source.choice([0, 1, 4])] = ''
        lines.append(','.join(fields))
    file.write_text('\n'.join(lines) + '\n')


def png(channels, height, width, pixels):
    """An image, gray or RGB, from bytes in the order of files: rows, pixels, channels."""
    def chunk(kind, content):
        body = kind + content
        return len(content).to_bytes(4, 'big') + body + zlib.crc32(body).to_bytes(4, 'big')
    head = width.to_bytes(4, 'big') + height.to_bytes(4, 'big') + bytes([8, 0 if channels == 1 else 2, 0, 0, 0])
    size = width * channels
    lines = b''.join(b'\0' + pixels[row * size:(row + 1) * size] for row in range(height))
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(lines, 1)) + chunk(b'IEND', b'')


def write_images(folder, train, test, classes=4, side=64):
    """ImageNet's layout."""
    patterns = [random.Random(f'pattern {label}').randbytes(3 * side * side) for label in range(classes)]
    for split, count in (('train', train), ('val', test)):
        source = random.Random(split)
        for index in range(count):
            label = index % classes
            place = folder / split / f'class{label}'
            place.mkdir(parents=True, exist_ok=True)
            (place / f'{index}.png').write_bytes(png(3, side, side, noisy_image(patterns[label], source)))
