"""Adds up the last `meson test` of the build folders given: prints `N passed, N failed, N skipped`.

A Catch2 program counts as its test cases, any other test as one; a case that needs another number of ranks counts as
skipped. Ends with 1 when a test failed or a log is missing. A folder with a file `skipped`, which has the reason, has no tests.
"""
import json
import pathlib
import re
import sys

passed = failed = skipped = 0
for folder in sys.argv[1:]:
    reason = pathlib.Path(folder, 'skipped')
    if reason.exists():
        print(f'skipped {folder}: {reason.read_text().strip()}')
        skipped += 1
        continue
    log = pathlib.Path(folder, 'meson-logs', 'testlog.json')
    results = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if not results:
        print(f'no test ran in {folder}')
        failed += 1
    for test in results:
        output = test.get('stdout', '')
        cases = re.findall(r'assertions? in (\d+) test case', output)
        skipped += sum(map(int, re.findall(r'^(\d+) test cases? skipped: ', output, re.MULTILINE)))
        mixed = re.findall(r'test cases: +\d+ \| +(?:(\d+) passed)?', output)
        if test['result'] in ('OK', 'EXPECTEDFAIL'):
            passed += int(cases[-1]) if cases else 1
        elif test['result'] == 'SKIP':
            skipped += 1
        else:
            failures = re.findall(r'test cases: .*?(\d+) failed', output)
            passed += int(mixed[-1] or 0) if mixed else 0
            failed += max(1, int(failures[-1]) if failures else 1)
            print(f"failed in {folder}: {test['name']} ({test['result'].lower()})")
            # Repeats the reason at the end of a long log.
            print(*(output + test.get('stderr', '')).splitlines()[-40:], sep='\n  ')
print(f'{passed} passed, {failed} failed, {skipped} skipped')
sys.exit(1 if failed else 0)
