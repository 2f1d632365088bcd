"""Writes a byte-level BPE tokenizer, a text and its tokens, by another implementation of GPT-2's encoder (Radford et al. 2019).

Usage: gpt2_reference.py FOLDER; writes vocab.json, merges.txt, a.txt and ids.
"""
import collections
import json
import pathlib
import random
import sys
import unicodedata

folder = pathlib.Path(sys.argv[1])
random.seed(1)
letters = {byte: chr(byte) for byte in range(256) if 33 <= byte <= 126 or 161 <= byte != 173}
for byte in range(256):
    letters.setdefault(byte, chr(256 + len([b for b in letters if ord(letters[b]) > 255])))


def kind(character):
    if character.isspace() and not '\x1c' <= character <= '\x1f':
        return 's'
    return {'L': 'L', 'N': 'N'}.get(unicodedata.category(character)[0], 'o')


def words(text):
    at = 0
    while at < len(text):
        end = next((at + len(e) for e in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d") if text.startswith(e, at)), 0)
        if not end:
            begin = at + (text[at] == ' ' and at + 1 < len(text) and kind(text[at + 1]) != 's')
            end = begin
            while end < len(text) and kind(text[end]) == kind(text[begin]):
                end += 1
            if kind(text[begin]) == 's' and end < len(text) and end - at > 1:
                end -= 1
        yield ''.join(letters[byte] for byte in text[at:end].encode())
        at = end


def merged(pieces, pair):
    result, i = [], 0
    while i < len(pieces):
        both = tuple(pieces[i:i + 2]) == pair
        result.append(''.join(pair) if both else pieces[i])
        i += 2 if both else 1
    return result


# Characters that every release of Unicode since 3.2 puts into the same class.
old = unicodedata.ucd_3_2_0
pool = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000
        and old.category(chr(code)) not in ('Cn', 'Co') and old.category(chr(code)) == unicodedata.category(chr(code))]
text = ' '.join(random.choice(['hello', "it's", 'well', "they'll", '1984', '\n\n', 'hell', '  ', 'naïve', '漢字', '...'])
                for _ in range(2000)) + ''.join(random.choice(pool) + random.choice(['', ' ', 'a', '1', '\n'])
                                               for _ in range(6000))
counts = collections.Counter(words(text))
pieces = {word: list(word) for word in counts}
merges = []
while len(merges) < 60:
    pairs = collections.Counter()
    for word, count in counts.items():
        for pair in zip(pieces[word], pieces[word][1:]):
            pairs[pair] += count
    best = max(sorted(pairs), key=pairs.get)
    merges.append(best)
    pieces = {word: merged(split, best) for word, split in pieces.items()}
names = sorted(set(letters.values()) | {''.join(pair) for pair in merges})
vocabulary = {name: token for token, name in enumerate(names)}
(folder / 'vocab.json').write_text(json.dumps(vocabulary), encoding='utf-8')
(folder / 'merges.txt').write_text('\n'.join(['#version: 0.2'] + [' '.join(pair) for pair in merges]) + '\n', encoding='utf-8')
(folder / 'a.txt').write_bytes(text.encode())
(folder / 'ids').write_text(' '.join(str(vocabulary[piece]) for word in words(text) for piece in pieces[word]))
