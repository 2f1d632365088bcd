"""Writes the tables of docs/benchmarks.md, docs/engines.md, docs/planning.md, docs/reproducibility.md and docs/restarts.md and the charts of docs/charts from results/*.csv.

Usage: results.py PROJECT_ROOT [--check]; with --check it writes nothing, and ends with 1 if a table or chart is not current.
A table stands between `<!-- table: NAME -->` and `<!-- end -->` in the page. To publish new figures, replace the rows of the
CSV file and run this script; the history of figures is in git.
"""
import csv
import pathlib
import sys

from charts import chart, curves

root = pathlib.Path(sys.argv[1])
results = pathlib.Path(__file__).parent / 'results'
MIB = 1 << 20


def read(name):
    with (results / f'{name}.csv').open() as file:
        return list(csv.DictReader(file))


def table(head, rows):
    lines = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    return '\n'.join(lines + ['| ' + ' | '.join(row) + ' |' for row in rows]) + '\n'


def thousands(text):
    return f'{round(float(text)):,}'


def source(row):
    return f"{row['processor']}, {row['date']}, commit {row['commit']}"


def sources(rows):
    return '; '.join(dict.fromkeys(source(row) for row in rows)) + '.\n'


def number(text):
    return float(text) if text else None


def peers():
    rows = read('peers')
    text = sources(rows) + '\n' + table(
        ['processor', 'workload', 'placement', 'trainer (least to most)', 'PyTorch (least to most)', 'its best setting', 'ratio',
         'GFLOP/s', 'of the peak'],
        [[row['processor'], f"{row['workload']} {row['network']}", row['placement']] +
         [f"{thousands(row[a])} ({thousands(row[b])} to {thousands(row[c])})"
          for a, b, c in [('trainer', 'trainer_least', 'trainer_most'), ('pytorch_speed', 'pytorch_least', 'pytorch_most')]] +
         [row['pytorch_setting'], row['ratio'], row['gflops'], f"{100 * int(row['gflops']) / int(row['peak_gflops']):.0f} %"]
         for row in rows])
    placements = ['1 thread', '2 threads', '2 ranks']
    groups = {}
    for row in rows:
        groups.setdefault(f"{row['workload']} {row['network']}, {row['processor'].split(' (')[0]}", {})[row['placement']] = \
            float(row['ratio'])
    return text, chart('Speed of trainer / best setting of PyTorch 1.13', '',
                       [(label, [values.get(placement) for placement in placements]) for label, values in groups.items()],
                       placements, 1)


def rivals():
    rows = read('rivals')

    def span(row, name):
        least, most = thousands(row[f'{name}_least']), thousands(row[f'{name}_most'])
        return least if least == most else f'{least} to {most}'

    return (sources(rows) + '\n' + table(
        ['workload', 'processor', 'PyTorch', 'trainer', 'best of PyTorch', 'ratio, one core', 'ratio, two cores'],
        [[f"{row['workload']} {row['network']}, {row['unit']}", row['processor'], row['versions'], span(row, 'trainer'),
          span(row, 'pytorch'), row['ratio'], row['ratio_two_cores']] for row in rows]),
        chart('Speed of trainer / best of PyTorch', '',
              [(f"{row['workload']} {row['network']}, {row['processor']}", [float(row['ratio']), float(row['ratio_two_cores'])]) for row in rows],
              ['one core', 'two cores'], 1))


def guards():
    rows = read('guards')
    names = ['step_ms', 'update_ms', 'guarded_update_ms', 'percent', 'percent_least', 'percent_most', 'percent_avx2']
    processors = list(dict.fromkeys(row['processor'] for row in rows))
    percent = {(row['optimizer'], row['processor']): max(0, float(row['percent'])) for row in rows}
    return (sources(rows) + '\n' + table(
        ['optimizer', 'processor', 'step, ms', 'update, ms', 'guarded update, ms', '% of the step', 'least', 'most', '% with AVX2'],
        [[row['optimizer'], row['processor']] + [row[name] for name in names] for row in rows]),
        chart('Cost of the guards, percent of a step', ' %',
              [(name, [percent[name, processor] for processor in processors])
               for name in dict.fromkeys(row['optimizer'] for row in rows)], processors))


def snapshots():
    rows = read('snapshots')
    return (sources(rows) + '\n' + table(
        ['config', 'ranks', 'MB', 'a snapshot, ms'],
        [[row[name] for name in ('config', 'ranks', 'megabytes', 'snapshot_ms')] for row in rows]), None)


def mode(name):
    return [row for row in read('modes') if row['mode'] == name]


def exact():
    columns = [(name, setting) for name in ('exact', 'portable', 'crosscheck') for setting in ('1 thread', '2 ranks')]
    rows = [row for row in read('modes') if row['mode'] != 'bf16']
    ratios = {(row['workload'], row['processor'], row['mode'], row['setting']): row['ratio'] for row in rows}
    networks = list(dict.fromkeys((row['workload'], row['network'], row['processor']) for row in rows))
    lines = [(f'{name} {network}', processor, [ratios.get((name, processor, *column), '-') for column in columns]) for name, network, processor in networks]
    return (sources(rows) + '\n' + table(
        ['workload', 'processor', 'exact / normal', '2 ranks', 'portable / exact', '2 ranks', 'crosscheck / exact', '2 ranks'],
        [[network, processor, *values] for network, processor, values in lines]),
        chart('Time of a step in exact mode / normal', '',
              [(f'{network}, {processor}', [float(value) for value in values[:2]]) for network, processor, values in lines], ['one rank', 'two ranks'], 1))


def bfloat16():
    rows = mode('bf16')
    return (sources(rows) + '\n' + table(
        ['workload', 'setting', 'float32', 'bf16', 'bf16 / float32'],
        [[f"{row['workload']} {row['network']}, {row['unit']}", row['setting'], thousands(row['speed_beside']), thousands(row['speed']), row['ratio']]
         for row in rows]),
        chart('Speed of training in bf16 / float32', '',
              [(f"{row['workload']} {row['network']}, {row['setting']}", [float(row['ratio'])]) for row in rows], ['bf16'], 1))


def bfloat16_accuracy():
    rows = read('bfloat16_accuracy')

    def cell(some, precision):
        values = [row[precision] for row in some if row[precision]]
        if not values:
            return '-'
        digits = len(values[0].split('.')[1])
        return f'{sum(map(float, values)) / len(values):.{digits}f} ({", ".join(values)})'
    configs = {name: [row for row in rows if row['config'] == name] for name in dict.fromkeys(row['config'] for row in rows)}
    return (sources(rows) + '\n' + table(
        ['config', 'measure', 'float32: mean (each seed)', 'precision: bf16', 'activations: bf16', 'both'],
        [[name, some[0]['measure'], *(cell(some, column) for column in ('float32', 'bf16', 'activations', 'both'))] for name, some in configs.items()]), None)


def roofs():
    rows = read('roofs')
    return (sources(rows) + '\n' + table(
        ['workload', 'processor', 'roof', 'trainer', 'trainer / roof', 'what else takes time'],
        [[f"{row['workload']} {row['network']}, {row['unit']}", row['processor'], thousands(row['roof']), thousands(row['speed']),
          f"{int(row['speed']) / int(row['roof']):.2f}", row['rest']] for row in rows]), None)


def activations():
    rows = read('activations')
    return (sources(rows) + '\n' + table(
        ['config', 'rows', 'kept', 'activations and scratch', 'step, ms', 'of the step as it is'],
        [[row['config'], row['rows'], row['mode'], row['activations'], row['step_ms'], row['ratio']] for row in rows]), None)


def placements():
    rows = read('placements')
    return (sources(rows) + '\n' + table(
        ['config', 'cores', 'ranks', 'default', '1 thread a rank', '2 threads a rank'],
        [[row['config'], row['cores'], row['ranks']] + [thousands(row[name]) for name in ('default', 'one_thread', 'two_threads')]
         for row in rows]),
        chart('Thousand images per second, default threads', '',
              [(f"{row['config']}, {row['cores']} cores, {row['ranks']} ranks", [round(int(row['default']) / 1000)])
               for row in rows], ['default']))


def few_samples():
    rows = read('few_samples')
    return (sources(rows) + '\n' + table(
        ['network', 'batch', 'threads', 'one thread, ms', 'all threads, ms', 'speedup'],
        [[row[name] for name in ('network', 'batch', 'threads', 'one_thread_ms', 'threads_ms', 'speedup')] for row in rows]), None)


def onednn():
    rows = read('onednn')
    names = ['forward', 'input_gradient', 'weight_gradient']
    return (sources(rows) + '\n' + table(
        ['shape', 'forward', 'input gradient', 'weight gradient'],
        [[row['shape']] + [row[name] or '-' for name in names] for row in rows]),
        chart('Speed of oneDNN 2.6.3 / trainer', '',
              [(row['shape'], [number(row[name]) for name in names]) for row in rows],
              ['forward', 'input gradient', 'weight gradient'], 1))


def engines():
    rows = read('engines')
    kinds = {'NN': 'A B', 'TN': 'A^T B', 'NT': 'A B^T'}
    kernels = list(dict.fromkeys(row['kernels'] for row in rows))
    shapes = {}
    for row in rows:
        shapes.setdefault((row['shape'], kinds[row['transposed']]), {})[row['kernels']] = row
    ratios = {shape: [round(float(of[one]['native_gflops']) / float(of[one]['openblas_gflops']), 2) if one in of else None
                      for one in kernels]
              for shape, of in shapes.items()}

    def cells(row, ratio):
        return (row['native_gflops'], row['openblas_gflops'], f'{ratio:.2f}') if row else 3 * ('-',)
    names = [one.split(',')[0] for one in kernels]
    return (sources(rows) + f"Kernels: {'; '.join(kernels)}. One thread, GFLOP/s.\n\n" + table(
        ['m x n x k', 'product'] + [cell for name in names for cell in (name, 'openblas', 'native / openblas')],
        [[*shape] + [cell for one, ratio in zip(kernels, ratios[shape]) for cell in cells(of.get(one), ratio)]
         for shape, of in shapes.items()]),
        chart('Speed of native / openblas', '', [(' '.join(shape), ratios[shape]) for shape in shapes], names, 1))


def engine_steps():
    rows = read('engine_steps')

    def cells(row):
        by_native, *others = (float(row[name]) for name in ('native_us', 'openblas_us', 'table_us'))
        # All but the products is the same code.
        slower = [(by_native - other) / 10 / float(row['native_ms']) if other < by_native else 0 for other in others]
        return [f"{row['workload']} {row['network']}", row['kernels'].split(',')[0], row['native_ms'] or '-', row['openblas_ms'] or '-',
                *(f'{us / 1000:.3f}' for us in (by_native, *others)), *(f'{part:.1f} %' for part in slower)]
    return (sources(rows) + f"Kernels: {'; '.join(dict.fromkeys(row['kernels'] for row in rows))}. One thread, ms.\n\n" + table(
        ['workload', '`auto`', 'step, native', 'step, openblas', 'products, native', 'openblas', 'faster of each shape',
         '`auto` slower than openblas', 'than a table'],
        [cells(row) for row in rows]), None)


def hosts():
    rows = read('hosts')
    places = [f"{row['hosts']} hosts" + ('' if row['share'] == '100' else f", {row['share']} % of a core each") for row in rows]
    return (sources(rows) + f"Links of {rows[0]['rate']}, {rows[0]['delay']} one way; one thread a host.\n\n" + table(
        ['workload', 'hosts', 'trainer, images/s', 'PyTorch, images/s', 'ratio', 'step, ms', 'bytes / rate, ms', 'processor time / of computing'],
        [[row['workload'], place, thousands(row['trainer']), thousands(row['pytorch']), row['ratio'], row['ms'], row['bound_ms'], row['cpu_ratio']]
         for row, place in zip(rows, places)]),
        chart('Speed of trainer / DDP over gloo', '',
              [(f"{row['workload']}, {place}", [float(row['ratio'])]) for row, place in zip(rows, places)], ['one thread a host'], 1))


def plain_tcp():
    rows = read('plain_tcp')
    return (sources(rows) + '\n' + table(
        ['bytes of', 'hosts', 'step, ms', 'processor time of a host, ms', 'of computing its rows, ms', 'ratio'],
        [[row['workload'], row['hosts'], row['ms'], row['processor_ms'], row['computing_ms'], f"{float(row['processor_ms']) / float(row['computing_ms']):.2f}"]
         for row in rows]), None)


def scaling():
    rows = read('scaling')
    about, one = rows[0], float(rows[0]['trainer'])
    speeds = [(f"{row['hosts']} hosts" if row['hosts'] != '1' else 'one host', float(row['trainer']), round(one * int(row['hosts']), 2))
              for row in rows]
    return (source(about) + f".\nLinks of {about['rate']}, {about['delay']} one way; each host has {about['share']} % of a core.\n\n" + table(
        ['hosts', 'images/s', 'of linear', 'step, s', 'bytes / rate, s'],
        [[row['hosts'], row['trainer'], f'{100 * speed / linear:.0f} %', f"{float(row['ms']) / 1000:.2f}", f"{float(row['bound_ms']) / 1000:.2f}"]
         for row, (_, speed, linear) in zip(rows, speeds)]),
        chart('ResNet-50, images/s', '', [(name, [speed, linear]) for name, speed, linear in speeds], ['measured', 'linear']))


def local_sgd():
    rows = read('local_sgd')
    synchronous = {(row['workload'], row['processor']): int(row['bytes_a_step']) for row in rows if row['method'] == 'synchronous'}
    about = rows[0]

    def percent(text):
        return f'{100 * float(text):.0f} %' if text else '-'
    return (sources(rows) + f"{about['hosts']} hosts, links of {about['rate']}, {about['delay']} one way.\n\n" + table(
        ['workload', 'processor', 'training', 'test accuracy or validation loss', 'bytes a step of a host', 'synchronous / these', 'samples/s', 'weak efficiency'],
        [[f"{row['workload']}, {row['length']}", row['processor'], row['method'], row['quality'], thousands(row['bytes_a_step']),
          f"{synchronous[row['workload'], row['processor']] / int(row['bytes_a_step']):.1f}", thousands(row['samples_per_second']), percent(row['efficiency'])]
         for row in rows]), None)


def methods():
    rows = read('methods')
    kinds = list(dict.fromkeys((row['config'], row['training'], row['ranks'], row['epochs']) for row in rows))
    lines = []
    for config, training, ranks, epochs in kinds:
        runs = [row for row in rows if (row['config'], row['training'], row['ranks'], row['epochs']) == (config, training, ranks, epochs)]
        accuracies = [float(row['accuracy']) for row in runs]
        stale = training == 'asynchronous'
        lines.append([config, epochs, training, ranks, f'{sum(accuracies) / len(runs):.2f} %', ', '.join(f'{one:.2f}' for one in accuracies),
                      f"{sum(float(row['staleness']) for row in runs) / len(runs):.2f}" if stale else '',
                      str(max(int(row['staleness_max']) for row in runs)) if stale else ''])
    return sources(rows) + '\n' + table(['config', 'epochs', 'training', 'ranks', 'test accuracy', 'of each seed', 'mean staleness, last epoch',
                                         'largest staleness'], lines), None


def tables():
    rows = read('tables')
    programs = list(dict.fromkeys(row['program'] for row in rows))

    def score(cell, program):
        scores = [float(row['score']) for row in rows if (row['table'], row['emptied'], row['program']) == (*cell, program)]
        digits = 0 if cell[0] == 'diamonds' else 1
        spread = f' ({min(scores):.{digits}f} to {max(scores):.{digits}f})' if len(scores) > 1 else ''
        return f'{sum(scores) / len(scores):.1f}{spread}'
    return (sources(rows) + '\n' + table(
        ['table', 'cells emptied', 'measure', *programs],
        [[*cell, measure, *(score(cell, program) for program in programs)]
         for *cell, measure in dict.fromkeys((row['table'], row['emptied'], row['measure']) for row in rows)]), None)


def cifar10():
    rows = read('cifar10')
    placed = list(dict.fromkeys((row['program'], row['processor']) for row in rows))
    programs = list(dict.fromkeys(row['program'] for row in rows))
    curves = [program for program in programs if any(row['training_accuracy'] for row in rows if row['program'] == program)]
    epochs = sorted({row['epoch'] for row in rows if row['epoch']})

    def values(name, program, epoch=None, processor=None):
        return [float(row[name]) for row in rows
                if row['program'] == program and row[name] and epoch in (None, row['epoch']) and processor in (None, row['processor'])]

    def cells(program, processor):
        seconds, accuracies = values('seconds_a_step', program, None, processor), values('test_accuracy', program, None, processor)
        step = sum(seconds) / len(seconds)
        return [program, processor, f'{step:.2f} ({min(seconds):.2f} to {max(seconds):.2f})', f'{step * 200 / 60:.0f}',
                ', '.join(f'{accuracy:.2f}' for accuracy in accuracies) or '-']

    def mean(name, program, epoch):
        found = values(name, program, epoch)
        return sum(found) / len(found) if found else None
    return (sources(rows) + '\n' + table(
        ['program', 'processor', 'seconds a step (least to most)', 'minutes of 200 steps', 'test accuracy of each seed, %'],
        [cells(*place) for place in placed]) + '\n' + table(
        ['training accuracy, %', *(f'epoch {epoch}' for epoch in epochs)],
        [[program, *(f"{mean('training_accuracy', program, epoch):.1f}" if values('training_accuracy', program, epoch) else '-'
                     for epoch in epochs)] for program in curves]),
        chart('CIFAR-10: training accuracy of each epoch', ' %',
              [(f'epoch {epoch}', [round(accuracy, 1) if (accuracy := mean('training_accuracy', program, epoch)) else None
                                   for program in curves]) for epoch in epochs], curves))


def memory():
    rows = read('memory')
    return (sources(rows) + '\n' + table(['workload', 'placement', 'trainer, MiB', 'PyTorch, MiB'],
                                         [[row['workload'], row['placement'], row['trainer_mib'], row['pytorch_mib']]
                                          for row in rows]),
            chart('Peak memory, MiB', '', [(f"{row['workload']}, {row['placement']}",
                                            [float(row['trainer_mib']), float(row['pytorch_mib'])]) for row in rows],
                  ['trainer', 'PyTorch']))


def planned_memory():
    rows = read('planned_memory')
    shown = ['parameters', 'gradients', 'optimizer state', 'activations and scratch']
    places = {}
    for row in rows:
        places.setdefault((row['mode'], row['ranks']), []).append(row)

    def cell(some, kind):
        large = [row for row in some if row['config'] == 'mlp-2048' and row['kind'] == kind]
        return f"{int(large[0]['planned']) / MIB:.1f} / {int(large[0]['measured']) / MIB:.1f}" if large else '-'

    def span(some):
        ratios = [float(row['ratio']) for row in some]
        return f'{min(ratios):.2f}' if min(ratios) == max(ratios) else f'{min(ratios):.2f} to {max(ratios):.2f}'

    def of_all(some):
        """The same of all kinds of each config together."""
        sums = {}
        for row in some:
            sums.setdefault(row['config'], []).append((int(row['planned']), int(row['measured'])))
        return [{'ratio': sum(a for a, _ in pairs) / sum(b for _, b in pairs)} for pairs in sums.values()]

    return sources(rows) + '\n' + table(
        ['mode', 'ranks', 'parameters', 'gradients', 'optimizer state', 'activations', 'ratios of these', 'of all memory', 'rest, MiB'],
        [[mode, ranks] + [cell(some, kind) for kind in shown] +
         [span([row for row in some if row['kind'] in shown]), span(of_all(some)),
          '{:.0f} to {:.0f}'.format(*(function(float(row['rest_mib']) for row in some) for function in (min, max)))]
         for (mode, ranks), some in places.items()]), None


def simulated():
    rows = read('simulated')
    kinds = list(dict.fromkeys((row['scaling'], row['link']) for row in rows))
    found = {(row['scaling'], row['link'], row['hosts']): row for row in rows}
    names = {kind: f"{kind[0]}, {kind[1].split('bps')[0].replace('G', ' Gbit/s')}" for kind in kinds}

    def cell(row):
        return f"{float(row['forecast_ms']):.1f} / {float(row['simulated_ms']):.1f}, {100 * float(row['simulated_efficiency']):.1f} %"

    def efficiencies(name):
        return {names[kind]: {int(row['hosts']): 100 * float(row[name]) for row in rows if (row['scaling'], row['link']) == kind} for kind in kinds}
    ratios = [float(row['ratio']) for row in rows]
    return (sources(rows) + f"resnet50, {rows[0]['gflops']} GFLOP/s a host. Step in ms, forecast / simulated, and simulated efficiency. "
            f'Forecast / simulated is {min(ratios):.2f} to {max(ratios):.2f}.\n\n' + table(
                ['hosts', *names.values()],
                [[thousands(hosts), *(cell(found[(*kind, hosts)]) for kind in kinds)] for hosts in dict.fromkeys(row['hosts'] for row in rows)]),
            curves('Simulated efficiency of resnet50 (circles: forecast)', ' %', 'hosts', efficiencies('simulated_efficiency'), efficiencies('forecast_efficiency')))


def planned_steps():
    rows = read('planned_steps')
    return sources(rows) + '\n' + table(['config', 'ranks', 'planned, ms', 'measured, ms', 'planned / measured'],
                                       [[row[key] for key in ('config', 'ranks', 'planned_ms', 'measured_ms', 'ratio')] for row in rows]), None


def planned_hosts():
    rows = read('planned_hosts')
    return (sources(rows) + f"Links of {rows[0]['rate']}, {rows[0]['delay']} one way; one thread a host.\n\n" + table(
        ['workload', 'hosts', 'measured link', 'planned, ms', 'measured, ms', 'planned / measured'],
        [[row['workload'], row['hosts'] + (f", {row['share']} % of a core each" if row['share'] != '100' else ''),
          row['link'].replace(',', ', '), row['planned_ms'], row['measured_ms'], row['ratio']] for row in rows]), None)


def profile():
    rows = read('profile')
    columns = list(rows[0])[3:]
    return sources(rows) + '\n' + table(columns, [[row[name] or '-' for name in columns] for row in rows]), None


def exact_matrix():
    rows = read('exact_matrix')
    return (sources(rows) + '\n' + table(
        ['model', 'kernels', 'steps', 'placements with equal bits', 'remark'],
        [[row['model'], row['kernels'], row['steps'], f"{row['placements']} of {row['placements']}", row['remark'] or '-']
         for row in rows]), None)


def portable():
    rows = read('portable')
    models = list(dict.fromkeys((row['model'], row['steps']) for row in rows))
    places = list(dict.fromkeys((row['program'], row['compiler'], row['optimization']) for row in rows))
    found = {(row['program'], row['compiler'], row['optimization'], row['model'], row['steps']): row for row in rows}
    first = {(row['model'], row['steps']): row for row in reversed(rows)}

    def cell(place, model):
        row = found.get((*place, *model))
        if row is None:
            return '-'
        equal = all(row[key] == first[model][key] for key in ('weights', 'losses'))
        return row['weights'][:8] + ('' if equal else ' differs')
    return (sources(rows) + '\n' + table(
        ['instructions', 'compiler', *(f'{model}, {steps} steps' for model, steps in models)],
        [[program, f'{compiler} {optimization}', *(cell((program, compiler, optimization), model) for model in models)]
         for program, compiler, optimization in places]), None)


def every_config():
    rows = read('every_config')
    return (sources(rows) + '\n' + table(
        ['config', 'all weights', 'largest of a tensor', 'exact'],
        [[row['config'] + (' *' if row['large_batches'] else ''), row['all_weights'],
          f"{row['largest_of_a_tensor']} {row['tensor']}", row['exact']] for row in rows]), None)


def update(page, makers):
    """Renews the tables of a page, and their charts; returns what was not current."""
    file = root / page
    text = file.read_text()
    stale = []
    for make in makers:
        name = make.__name__
        content, drawing = make()
        before, begin, rest = text.partition(f'<!-- table: {name} -->\n')
        old, end, after = rest.partition('<!-- end -->')
        if not begin or not end:
            sys.exit(f'{page} has no place for the table {name}')
        if old != content:
            stale.append(f'the table {name} of {page}')
        text = before + begin + content + end + after
        svg = root / 'docs/charts' / f'{name}.svg'
        if drawing and (not svg.exists() or svg.read_text() != drawing):
            stale.append(f'docs/charts/{name}.svg')
            if '--check' not in sys.argv:
                svg.write_text(drawing)
    if '--check' not in sys.argv:
        file.write_text(text)
    return stale


stale = update('docs/benchmarks.md', [peers, rivals, roofs, guards, exact, bfloat16, bfloat16_accuracy, activations, placements, few_samples, hosts, plain_tcp, scaling, local_sgd, methods, onednn, tables, cifar10, memory, profile])
if (results / 'engines.csv').exists():
    stale += update('docs/engines.md', [engine_steps, engines])
stale += update('docs/planning.md', [planned_memory, planned_steps, planned_hosts, simulated])
stale += update('docs/restarts.md', [snapshots])
stale += update('docs/reproducibility.md', [exact_matrix, portable, every_config])
for line in stale:
    print(f"{'not current' if '--check' in sys.argv else 'written'}: {line}")
sys.exit(1 if stale and '--check' in sys.argv else 0)
