"""Damaged input to every reader of records and taxonomies: only an HBGLError may come out.

    python -m benchmarks.fuzz_readers --out benchmarks/results/fuzz_readers.json
    python -m benchmarks.fuzz_readers --seed 1 --only 4711        reproduces input 4711 of that run

Input ``i`` depends on the seed and on ``i`` alone: a good file of one format, changed in one to
six places, before or after its compression. A failure is any other exception, a crash of the
process, an input that takes more than ten CPU seconds or 4 GiB, a record that breaks its own rules
(empty or unwritable text, labels that are not closed), or a JSONL line that is neither read nor
reported. The exit code is 1 if there are failures.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import logging
import multiprocessing
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any, Literal

import zstandard

from benchmarks.fuzz_inputs import TAXONOMIES, mutated, record_samples
from benchmarks.provenance import provenance
from hbgl.errors import HBGLError
from hbgl.records import Columns, Record, SkippedRecords, infer_taxonomy, read_records
from hbgl.records.lines import BOM
from hbgl.records.sources import Format as RecordFormat
from hbgl.taxonomy import Taxonomy, read_taxonomy

__all__ = ["main"]

SECONDS = 10  # of the CPU
HANGS = 120  # seconds of waiting for one input, which a busy machine must not reach
POLL = 0.05  # seconds between two looks at the place
CHUNK = 50_000  # inputs that one process reads
MEMORY = 4 << 30
SHOWN = 100

TREE = Taxonomy.from_paths([("science", "physics", "optics"), ("science", "biology"), ("sport",)])
GRAPH = Taxonomy.from_edges([("a", "c"), ("b", "c"), ("c", "d"), ("b", "e")])

# Slow parsers get fewer inputs.
WEIGHTS = {
    "jsonl": 40,
    "csv": 25,
    "tsv": 14,
    "parquet": 4,
    "taxonomy tsv": 10,
    "taxonomy edges": 8,
    "taxonomy paths": 8,
    "taxonomy json": 6,
    "taxonomy json nodes": 6,
    "taxonomy names": 4,
    "taxonomy records": 6,
    "taxonomy yaml": 2,
    "taxonomy label-studio": 4,
    "taxonomy skos turtle": 0.5,
    "taxonomy skos xml": 0.5,
}


def damaged(sample: bytes, rng: random.Random) -> tuple[bytes, bytes]:
    """A sample changed before or after its compression, if any, and what was compressed."""
    packed = rng.choice(("", "", "", "gz", "zst"))
    plain = mutated(sample, rng) if not packed or rng.random() < 0.5 else sample
    if not packed:
        return plain, plain
    content = (gzip.compress if packed == "gz" else zstandard.compress)(plain)
    return mutated(content, rng) if plain is sample else content, plain


def fuzz_records(kind: str, sample: bytes, rng: random.Random) -> str:
    """Read one damaged file of records; what became of it."""
    format: RecordFormat = kind  # type: ignore[assignment]  # noqa: A001
    content, plain = damaged(sample, rng)
    taxonomy = rng.choice((None, TREE, TREE, GRAPH))
    columns = Columns(labels=["level1", "level2"]) if rng.random() < 0.1 else None
    on_error: Literal["fail", "skip"] = rng.choice(("fail", "skip", "skip"))
    skipped = SkippedRecords()
    limit = rng.choice((64 << 20, 64 << 20, 40))
    reader = read_records(
        io.BytesIO(content),
        format=None if rng.random() < 0.1 else format,
        taxonomy=taxonomy,
        columns=columns,
        on_error=on_error,
        skipped=skipped,
        require_labels=rng.random() < 0.1,
        max_line_bytes=limit,
        quoted=rng.random() < 0.9,
    )
    try:
        for record in reader:
            check_record(record, taxonomy)
    except HBGLError:
        return "refused"
    if (
        kind == "jsonl"
        and content is plain
        and not plain.startswith((b"\x1f\x8b", b"\x28\xb5", b"PAR1"))
    ):
        # A blank line holds nothing, but one over the limit is reported without a look at it.
        marked = zip(plain.split(b"\n"), plain.removeprefix(BOM).split(b"\n"), strict=True)
        lines = sum(bool(line.strip()) or len(raw) > limit for raw, line in marked)
        if lines != reader.summary.read + reader.summary.skipped:
            raise AssertionError(f"{lines} lines, but {reader.summary}")
    return "read with faults" if reader.summary.skipped else "read"


def check_record(record: Record, taxonomy: Taxonomy | None) -> None:
    """A record that was read must be one that can be used."""
    json.dumps([record.text, record.labels, record.id], ensure_ascii=False).encode("utf-8")
    if not record.text.strip() or not all(record.labels):
        raise AssertionError(f"empty text or label: {record}")
    if taxonomy is not None:
        ids = taxonomy.ids(record.labels).tolist()
        if ids != sorted(set(ids)):
            raise AssertionError(f"labels out of order: {record}")
        if taxonomy.is_tree and ids != taxonomy.closure(ids).tolist():
            raise AssertionError(f"labels not closed: {record}")


def fuzz_taxonomy(kind: str, folder: Path, rng: random.Random) -> str:
    """Read one damaged taxonomy; what became of it."""
    format, suffix, sample = TAXONOMIES[kind]  # noqa: A001
    path = folder / f"taxonomy{suffix}"
    names: Path | Literal[False] = False
    content = mutated(sample.encode(), rng)
    if kind == "names":
        names = folder / "words.json"
        names.write_bytes(content)
        content = TAXONOMIES["tsv"][2].encode()
    path.write_bytes(content)
    try:
        taxonomy = read_taxonomy(
            path, format=format, names=names, repeated=rng.choice(("join", "qualify"))
        )
    except HBGLError:
        return "refused"
    check_taxonomy(taxonomy)
    return "read"


def fuzz_inference(kind: str, sample: bytes, rng: random.Random) -> str:
    """Infer a taxonomy from one damaged file of records; what became of it."""
    format: RecordFormat = kind  # type: ignore[assignment]  # noqa: A001
    content, _ = damaged(sample, rng)
    try:
        taxonomy = infer_taxonomy(
            io.BytesIO(content),
            format=format,
            on_error=rng.choice(("fail", "skip", "skip")),
            repeated=rng.choice(("join", "qualify")),
        )
    except HBGLError:
        return "refused"
    check_taxonomy(taxonomy)
    return "read"


def check_taxonomy(taxonomy: Taxonomy) -> None:
    """A taxonomy that was read must have a level for each label."""
    if len(taxonomy.levels) != len(taxonomy) or taxonomy.depth < 1:
        raise AssertionError(f"levels do not fit: {taxonomy!r}")


def fuzz_one(seed: int, number: int, samples: dict[str, bytes], folder: Path) -> tuple[str, str]:
    """Make and read one input: its kind, and what became of it."""
    rng = random.Random(f"{seed}-{number}")
    [kind] = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))
    if kind == "taxonomy records":
        format = rng.choice(list(samples))  # noqa: A001
        return kind, fuzz_inference(format, samples[format], rng)
    if kind.startswith("taxonomy "):
        return kind, fuzz_taxonomy(kind.removeprefix("taxonomy "), folder, rng)
    return kind, fuzz_records(kind, samples[kind], rng)


def work(seed: int, start: int, stop: int, place: Synchronized[int], found: Any) -> None:
    """Read the inputs of a range in this process; results go into the queue, the place forward."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    logging.disable()
    samples = record_samples()
    outcomes: Counter[tuple[str, str]] = Counter()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(start, stop):
            place.value, start_cpu = number, time.process_time()
            try:
                kind, outcome = fuzz_one(seed, number, samples, Path(folder))
                outcomes[kind, outcome] += 1
                if (taken := time.process_time() - start_cpu) > SECONDS:
                    failures.append((number, f"took {taken:.0f} s"))
            except Exception as error:  # everything that is no HBGLError is what is looked for
                trace = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(trace.filename).name}:{trace.lineno}"
                failures.append((number, f"{type(error).__name__} at {where}: {error}"[:300]))
    found.put((outcomes, failures))


def fuzz(seed: int, count: int) -> tuple[Counter[tuple[str, str]], list[tuple[int, str]]]:
    """Read all inputs in processes whose death is a failure too."""
    context = multiprocessing.get_context("spawn")
    outcomes: Counter[tuple[str, str]] = Counter()
    failures: list[tuple[int, str]] = []
    ranges = [(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]
    while ranges:
        start, stop = ranges.pop(0)
        place, found = context.Value("q", start), context.Queue()
        process = context.Process(target=work, args=(seed, start, stop, place, found))
        process.start()
        result, reason = supervise(process, found, place)
        if result is not None:
            outcomes.update(result[0])
            failures.extend(result[1])
            continue
        # Without its results the range is read again in two parts, around the input that killed.
        failures.append((place.value, reason))
        parts = ((start, place.value), (place.value + 1, stop))
        ranges[:0] = [part for part in parts if part[0] < part[1]]
    return outcomes, sorted(failures)


def supervise(process: Any, found: Any, place: Synchronized[int]) -> tuple[Any, str]:
    """The result of a process, or None and how it died.

    Looks are counted, not seconds: a run that was stopped for a while goes on as if nothing was.
    """
    seen, looks = place.value, 0
    while True:
        if not found.empty():
            result = found.get()
            process.join()
            return result, ""
        if not process.is_alive() and found.empty():
            return None, f"the process ended with code {process.exitcode}"
        if place.value != seen:
            seen, looks = place.value, 0
        elif looks * POLL > HANGS:
            process.kill()
            process.join()
            return None, f"did not end within {HANGS} s"
        looks += 1
        time.sleep(POLL)


def main() -> int:
    """Read the inputs, print a table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="read one input and show what happens")
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    options = parser.parse_args()
    if options.only is not None:
        with tempfile.TemporaryDirectory() as folder:
            print(*fuzz_one(options.seed, options.only, record_samples(), Path(folder)), sep=": ")
        return 0
    start = time.perf_counter()
    outcomes, failures = fuzz(options.seed, options.count)
    names = sorted({outcome for _, outcome in outcomes})
    print(f"{'':<24}" + "".join(f"{name:>18}" for name in names))
    for kind in WEIGHTS:
        print(f"{kind:<24}" + "".join(f"{outcomes[kind, name]:>18,}" for name in names))
    for number, message in failures[:SHOWN]:
        print(f"failure: --seed {options.seed} --only {number}: {message}")
    results = {
        "inputs": sum(outcomes.values()) + len(failures),
        "failures": len(failures),
        "seconds": round(time.perf_counter() - start, 1),
        "by_reader": {kind: {name: outcomes[kind, name] for name in names} for kind in WEIGHTS},
        "first_failures": [f"--only {number}: {message}" for number, message in failures[:SHOWN]],
    }
    command = f"python -m benchmarks.fuzz_readers --count {options.count} --seed {options.seed}"
    record = {"benchmark": "fuzz_readers", **provenance(command, options.seed), "results": results}
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
