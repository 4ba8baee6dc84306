"""Valid files, damaged at random: bytes, numbers, words and whole blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

NUMBERS = (
    *(0, 1, 2, 3, 7, 16, 127, 128, 255, 256, 511, 512, 1023, 4096, 32767, 32768, 65535, 65536, 10**6),
    *(2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1),
)
WORDS = (b"0", b"-1", b"1e309", b"nan", b"inf", b"1_0", b"99999999999999999999", b"", b"\0", b"\n", b"\x1b[2J", b"\xff")
LARGEST = 1 << 16
_HEADER = 1 << 11


def mutated(content: bytes, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> bytes:
    """Return a file with one to eight changes."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 2, 4, 8))):
        random.choice(CHANGES)(data, others, tokens, random)
    return bytes(data[:LARGEST])


def _place(data: bytearray, random: Random) -> int:
    """Return an offset, often near the beginning, where most formats keep what they are."""
    size = max(len(data), 1)
    return random.randrange(min(size, random.choice((64, 512, size, size))))


def _byte(data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
    if data:
        at = _place(data, random)
        data[at] = random.choice((0, 1, 127, 128, 255, random.randrange(256), data[at] ^ 1 << random.randrange(8)))


def _number(data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
    width = random.choice((2, 4, 8))
    number = random.choice(NUMBERS) * random.choice((1, 1, 1, -1)) + random.choice((0, 0, -1, 1))
    at = _place(data, random) // random.choice((1, 2, 4)) * random.choice((1, 2, 4))
    data[at : at + width] = (number % 2 ** (8 * width)).to_bytes(width, random.choice(("little", "big")))


def _more_or_less(data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
    """Change a number that is there by a little."""
    width = random.choice((1, 2, 4, 8))
    at, order = _place(data, random), random.choice(("little", "big"))
    number = int.from_bytes(data[at : at + width], order) + random.randrange(-16, 17)
    data[at : at + width] = (number % 2 ** (8 * width)).to_bytes(width, order)


def _written_number(data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
    """Change a number that is written as text."""
    if places := list(re.finditer(rb"-?\d+(\.\d+)?", bytes(data[:LARGEST]))):
        found = random.choice(places)
        data[found.start() : found.end()] = random.choice((*WORDS, str(random.choice(NUMBERS)).encode()))


def _word(data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
    at = _place(data, random)
    word = random.choice((*WORDS, *tokens))
    data[at : at + random.choice((0, len(word)))] = word


def _swapped_word(data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
    """Put one word of the format where another stands."""
    there = [token for token in tokens if token and token in data]
    if there:
        token = random.choice(there)
        at = data.index(token)
        data[at : at + len(token)] = random.choice((*tokens, *WORDS))


def _cut(data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
    at = _place(data, random)
    del data[at : at + random.choice((1, 4, 16, 512, len(data)))]


def _repeated(data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
    at = _place(data, random)
    block = data[at : at + random.choice((1, 8, 64, 512))]
    data[at:at] = block * random.choice((1, 2, 8, 64))


def _moved(data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
    source, target, size = _place(data, random), _place(data, random), random.choice((2, 8, 24, 128))
    data[target : target + size] = data[source : source + size]


def _joined(data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
    """Go on as another file does."""
    other = random.choice(others)
    at = _place(data, random)
    data[at:] = other[at:] if random.random() < 0.5 else other[_place(bytearray(other), random) :]


def _line(data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
    """Take a line of text out, put it elsewhere as well, or stretch what it says."""
    lines = bytes(data[:_HEADER]).splitlines(keepends=True)
    if not lines:
        return
    at = random.randrange(len(lines))
    words = re.split(rb"(?<=[=:,; (])", lines[at])
    lines[at : at + 1] = random.choice(
        (
            [],
            [_times(lines[at], random.choice((2, 3, 300)))],
            [random.choice(lines), lines[at]],
            [words[0], _times(b"".join(words[1:]), random.choice((0, 2, 40, 4000)))],
            [words[0], _times(random.choice((*words, *tokens)), random.choice((2, 300, 20_000))), b"\n"],
        )
    )
    data[:_HEADER] = b"".join(lines)[:LARGEST]


def _times(block: bytes, count: int) -> bytes:
    """Repeat a block, no more often than the largest file has room for: whoever damages files has little memory too."""
    return block * min(count, LARGEST // max(len(block), 1) + 1)


CHANGES = (
    *(_byte, _byte, _byte, _number, _number, _more_or_less, _written_number, _word, _swapped_word),
    *(_cut, _repeated, _moved, _joined, _line),
)
