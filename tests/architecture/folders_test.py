"""Reads the sources as text and enforces which folder may include which, that no two folders include each other, that
each library has one home, and where files may lie.

Usage: folders_test.py PROJECT_ROOT; prints every breach and ends with 1.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
breaches = []

# A folder may include itself and what is listed; longer paths win.
may_include = {
    'engine/core': [],
    'engine/system': ['engine/core'],
    'engine/config': ['engine/core'],
    'engine/math': ['engine/core', 'engine/system'],
    'engine/parallel': ['engine/core', 'engine/system'],
    'datasets': ['engine'],
    'models': ['engine', 'datasets'],
    'cli': ['engine', 'datasets', 'models'],
}
may_not_include = {
    f'models/{family}': ['engine/parallel']
    for family in ('layers', 'losses', 'metrics', 'initializers', 'optimizers', 'schedules')
}
homes = {
    r'yaml-cpp/': 'engine/config',
    r'(cblas|openblas|lapacke).*': 'engine/math',
    r'(dnnl|oneapi/dnnl/).*': 'engine/math',
    r'mpi\.h': 'engine/parallel',
    r'CLI/': 'cli',
    r'(png|jpeglib|jerror)\.h|webp/': 'datasets/readers',
    r'(onnx|google/protobuf)/': 'models/exporting/onnx',
    r'(curl|openssl)/|archive(_entry)?\.h': 'datasets/fetching',
    r'httplib\.h': 'cli/reports',
    r'zlib\.h': 'datasets/readers engine/system',  # decompression and checksums
}
top_level = {'meson.build', 'meson_options.txt', 'LICENSE', 'README.md', 'cli', 'engine', 'models', 'configs',
             'datasets', 'tests', 'docs'}


# (folder, folder) -> an include that points from the first to the second
arrows = {}


def inside(path, folder):
    return path == folder or path.startswith(folder + '/')


def home_of(path):
    return max((folder for folder in may_include if inside(path, folder)), key=len, default=None)


def check_include(path, name):
    own = home_of(path)
    if (root / name).is_file():
        ends = tuple(pathlib.PurePosixPath(end).parent.as_posix() for end in (path, name))
        arrows.setdefault(ends, f'{path} includes {name}')
        if not any(inside(name, folder) for folder in [own, *may_include[own]]):
            breaches.append(f'{path} includes {name}: {own} may know only {may_include[own] or "itself"}')
        for folder, forbidden in may_not_include.items():
            if inside(path, folder) and any(inside(name, other) for other in forbidden):
                breaches.append(f'{path} includes {name}: {folder} knows nothing of {forbidden}')
    for pattern, home in homes.items():
        if re.match(pattern, name) and not any(inside(path, folder) for folder in home.split()):
            breaches.append(f'{path} includes {name}, whose one home is {home}')


def is_built(source):
    """Whether a meson.build in the source's folder, or one above it, names the source, or finds it by what it tests."""
    if (source.parent.as_posix() == 'tests/models/layers' and
            (root / 'models/layers' / source.name.replace('_test.cpp', '.cpp')).exists()):
        return True
    for folder in list(source.parents)[:-1]:
        build = root / folder / 'meson.build'
        if build.exists() and f"'{source.relative_to(folder).as_posix()}'" in build.read_text():
            return True
    return False


for entry in root.iterdir():
    if not entry.name.startswith(('.', 'build')) and entry.name not in top_level | {'runs', 'sweeps', 'cv'}:
        breaches.append(f'{entry.name} does not belong at the top level')
for top in ('engine', 'datasets', 'models', 'cli', 'tests'):
    for file in sorted((root / top).rglob('*')):
        source = file.relative_to(root)
        if file.is_dir() and file.name in ('util', 'utils', 'common', 'misc'):
            breaches.append(f'{source}: a folder is named after what it holds')
        if file.suffix == '.cpp' and not is_built(source):
            breaches.append(f'{source} is in no meson.build')
        if file.suffix in ('.cpp', '.h') and top != 'tests':
            if home_of(source.as_posix()) is None:
                breaches.append(f'{source} is in no folder of the architecture')
                continue
            for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', file.read_text(), re.MULTILINE):
                check_include(source.as_posix(), name)

both_ways = {pair for pair in arrows if pair[0] < pair[1] and pair[::-1] in arrows}
breaches += [f'{pair[0]} and {pair[1]} include each other: {arrows[pair]}, {arrows[pair[::-1]]}'
             for pair in sorted(both_ways)]

print('\n'.join(breaches))
sys.exit(1 if breaches else 0)
