"""Break files and see whether dcembed says so in one line: no traceback, no crash, nothing slow or huge.

`mutate` makes a mutant of some bytes and a seed. `run` lets a process of its own read mutants until the time is over; a process that
dies is started again, and what it was reading is a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import math
import multiprocessing
import os
import random
import re
import resource
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from tests.attack.specimens import Specimen, good_files, make_specimens

# What a mutant may cost: processor time, so that a busy machine does not count, and memory above that of the process before.
MOST_SECONDS, MOST_BYTES = 1.0, 200_000_000
# How the problem of a mutant begins that took too long; a short run on a busy machine may overlook it.
SLOW = "slow"
# Seconds after which a process that says nothing is taken for stuck.
PATIENCE = 60.0

NUMBERS = [b"0", b"-1", b"1e400", b"nan", b"inf", b"-inf", b"99999999999999999999", b"1e-400", b"0.5", b"2", b"1" * 5000, b"1,5"]
WORDS = [
    b"",
    b" ",
    b"\x00",
    b"\xff\xfe",
    "ö".encode("latin-1"),
    "größe".encode(),
    b"[",
    b"]",
    b"[" * 300,
    b"*",
    b"null",
    b"{}",
    b"\\",
    b"->",
    b"x" * 300,
]
WHOLE = [0, 1, 2, 0x7F, 0xFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1]


@dataclass(frozen=True)
class MutantFailure:
    """A mutant that was not refused as it should be."""

    specimen: str
    seed: int
    problem: str


@dataclass(frozen=True)
class MutantReport:
    """What became of the mutants: how many were made, refused (exit code 2), and read as if nothing were wrong; and the failures."""

    made: int
    refused: int
    read: int
    failures: list[MutantFailure] = field(default_factory=list)


# Mutants.


def mutate(content: bytes, seed: int, name: str = "") -> bytes:
    """A broken copy. Of packed files (.npz, .keras, .pt2, .pt, .gz) some are broken inside, where a checksum would else hide it."""
    rng = random.Random(seed)
    if name.endswith(".gz") and rng.random() < 0.5:
        return gzip.compress(_break(gzip.decompress(content), rng), mtime=0)
    if name.endswith((".npz", ".keras", ".pt2", ".pt")) and rng.random() < 0.7:
        return _break_archive(content, rng)
    return _break(content, rng)


def _break(content: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        content = rng.choice([_flip, _cut, _repeat, _insert, _put_whole, _put_number, _put_word, _swap])(content, rng)
    return content


def _break_archive(content: bytes, rng: random.Random) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(stream, "w") as broken:
        entries = archive.infolist()
        chosen = rng.choice(entries)
        for entry in entries:
            data = archive.read(entry)
            if entry is chosen and rng.random() < 0.1:
                continue
            # By its name alone an entry would have the time of day in it.
            dated = zipfile.ZipInfo(entry.filename)
            broken.writestr(dated, _break(data, rng) if entry is chosen else data, compress_type=zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _span(content: bytes, rng: random.Random) -> tuple[int, int]:
    begin = rng.randrange(len(content) + 1)
    return begin, min(len(content), begin + rng.choice([1, 2, 4, 8, 32, 200, len(content)]))


def _flip(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 16])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _cut(content: bytes, rng: random.Random) -> bytes:
    begin, end = _span(content, rng)
    return content[:begin] + content[end:]


def _repeat(content: bytes, rng: random.Random) -> bytes:
    begin, end = _span(content, rng)
    return content[:end] + content[begin:end] * rng.choice([1, 2, 30]) + content[end:]


def _insert(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.randbytes(rng.choice([1, 2, 8, 40])) + content[place:]


def _put_whole(content: bytes, rng: random.Random) -> bytes:
    width = rng.choice([1, 2, 4, 8])
    place = rng.randrange(len(content) + 1)
    return content[:place] + (rng.choice(WHOLE) % 256**width).to_bytes(width, "little") + content[place + width :]


def _put_number(content: bytes, rng: random.Random) -> bytes:
    return _exchange(rb"-?\d+(\.\d+)?", rng.choice(NUMBERS), content, rng)


def _put_word(content: bytes, rng: random.Random) -> bytes:
    return _exchange(rb"[A-Za-z_]+", rng.choice(WORDS), content, rng)


def _exchange(pattern: bytes, word: bytes, content: bytes, rng: random.Random) -> bytes:
    places = [match.span() for match in re.finditer(pattern, content)]
    if not places:
        return content
    begin, end = rng.choice(places)
    return content[:begin] + word + content[end:]


def _swap(content: bytes, rng: random.Random) -> bytes:
    a, b, c, d = sorted(rng.randrange(len(content) + 1) for _ in range(4))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


# Reading them.


def run(seconds: float, seed: int, most: float = math.inf) -> MutantReport:
    """Make and read mutants for so many seconds, and no more than `most`. The same seed gives the same mutants."""
    counts, failures, number, deadline = {"refused": 0, "read": 0}, [], seed * 1_000_000, time.monotonic() + seconds
    specimens = make_specimens()
    with tempfile.TemporaryDirectory() as folder:
        last = number + most
        while time.monotonic() < deadline and number < last:
            for outcome in _read_until(deadline, specimens, number, Path(folder)):
                number += 1
                if isinstance(outcome, MutantFailure):
                    failures.append(outcome)
                else:
                    counts[outcome] += 1
                if number >= last:
                    break
    return MutantReport(sum(counts.values()) + len(failures), counts["refused"], counts["read"], failures)


def _read_until(deadline: float, specimens: list[Specimen], first: int, folder: Path) -> Iterator[str | MutantFailure]:
    """What becomes of the mutants from number `first` on, until one ends the process or the time is over."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, specimens, str(folder)), daemon=True)
    process.start()
    theirs.close()
    number = first
    try:
        while time.monotonic() < deadline:
            ours.send(number)
            if not ours.poll(PATIENCE):
                yield MutantFailure(_specimen(specimens, number).name, number, "stuck")
                return
            try:
                problem = ours.recv()
            except EOFError:
                process.join()
                yield MutantFailure(_specimen(specimens, number).name, number, f"the process died, exit code {process.exitcode}")
                return
            yield problem if problem in ("refused", "read") else MutantFailure(_specimen(specimens, number).name, number, problem)
            number += 1
    finally:
        process.kill()
        process.join()


def _specimen(specimens: list[Specimen], number: int) -> Specimen:
    return specimens[number % len(specimens)]


def _serve(connection: Connection, specimens: list[Specimen], folder: str) -> None:
    """The process that reads: the number of a mutant comes in, what became of it goes out."""
    os.chdir(folder)
    for name, content in good_files().items():
        Path(name).write_bytes(content)
    with open("said", "w+b") as said, open(os.devnull, "wb") as nowhere:
        # HiGHS prints on its own, and not where errors go.
        os.dup2(nowhere.fileno(), 1)
        os.dup2(said.fileno(), 2)
        for specimen in specimens:
            read(specimen, specimen.content, said)
        with contextlib.suppress(EOFError):
            while True:
                number = connection.recv()
                specimen = _specimen(specimens, number)
                connection.send(read(specimen, mutate(specimen.content, number, specimen.name), said))


def read(specimen: Specimen, content: bytes, said: io.BufferedRandom) -> str:
    """Let the command line read a file: "refused", "read", or what is wrong with the way it did."""
    from dcembed.cli import main

    Path(specimen.name).write_bytes(content)
    said.seek(0)
    said.truncate()
    began, before = time.process_time(), peak_memory(reset=True)
    output = sys.stdout
    try:
        with open(os.devnull, "w") as sys.stdout:
            code = main([word.format(specimen.name) for word in specimen.command])
    except BaseException:
        return traceback.format_exc()
    finally:
        sys.stdout = output
    seconds, grown = time.process_time() - began, peak_memory() - before
    sys.stderr.flush()
    said.seek(0)
    return _judge(code, said.read().decode("utf-8", "replace"), seconds, grown)


def peak_memory(reset: bool = False) -> int:
    """Bytes that this process has held at most, since the last reset where the system (Linux) has one."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    except (OSError, StopIteration):
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _judge(code: int, text: str, seconds: float, grown: int) -> str:
    if code not in (0, 1, 2) or "Traceback" in text:
        return f"exit code {code}: {text}"
    if text.count("\n") != (code == 2) or (code == 2 and not text.startswith("dcembed: ")):
        return f"exit code {code}, not one line: {text}"
    if seconds > MOST_SECONDS or grown > MOST_BYTES:
        return f"{SLOW if seconds > MOST_SECONDS else 'huge'}: {seconds:.1f} s and {grown / 1e6:.0f} MB for {text}"
    return "refused" if code == 2 else "read"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    report = run(arguments.seconds, arguments.seed)
    print(f"{report.made} mutants: {report.refused} refused, {report.read} read, {len(report.failures)} failures")
    for failure in report.failures:
        print(json.dumps(failure.__dict__))


if __name__ == "__main__":
    main()
