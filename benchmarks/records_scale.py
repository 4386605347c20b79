"""How long a large file of documents takes to read with every check, and how much memory.

    python -m benchmarks.records_scale --out benchmarks/results/records_scale.json

Writes one corpus of short documents in each format, with leaf labels of a 1,000-label taxonomy,
and reads it with that taxonomy: UTF-8, JSON, types, texts, labels, ancestors. A tenth of it is read
too: memory that does not grow is constant. Each reading has a process of its own, whose peak
resident memory is that of the interpreter, numpy and the reader.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

from benchmarks.provenance import provenance
from hbgl.records import Record, read_records, write_records
from hbgl.taxonomy import Taxonomy, read_taxonomy, write_taxonomy

__all__ = ["main"]

FORMATS = ("jsonl", "jsonl.gz", "jsonl.zst", "csv", "parquet")


def taxonomy() -> Taxonomy:
    """Ten areas with nine fields each, and ten topics in each field: 1,000 labels, three levels."""
    return Taxonomy.from_paths(
        (f"area {area}", f"field {area}.{field}", f"topic {area}.{field}.{topic}")
        for area in range(10)
        for field in range(9)
        for topic in range(10)
    )


def documents(count: int, seed: int) -> Iterator[Record]:
    """About 40 words each (a tenth of them not ASCII) and one to three leaf labels."""
    rng = random.Random(seed)
    labels = taxonomy()
    leaves = [labels.labels[i] for i in labels.leaves.tolist()]
    words = ["".join(rng.choices(ascii_lowercase, k=rng.randint(2, 9))) for _ in range(5000)]
    texts = [" ".join(rng.choices(words, k=40)) for _ in range(2000)]
    texts[::10] = [f"{text} à suivre" for text in texts[::10]]
    for number in range(count):
        chosen = tuple(rng.sample(leaves, rng.randint(1, 3)))
        yield Record(f"{texts[number % 2000]} {number}", chosen, str(number))


def read(path: Path) -> dict[str, float | int]:
    """Read a file in this process: seconds, those of the CPU, and peak mebibytes."""
    known = read_taxonomy(path.parent / "taxonomy.tsv")
    next(read_records(path, taxonomy=known))  # imports what the format needs before the clock
    start, cpu, count, labels = time.perf_counter(), time.process_time(), 0, 0
    for record in read_records(path, taxonomy=known):
        count += 1
        labels += len(record.labels)
    seconds = time.perf_counter() - start
    return {
        "documents": count,
        "labels": labels,
        "seconds": seconds,
        "cpu_seconds": time.process_time() - cpu,
        "peak_mib": _peak_mib(),
    }


def _peak_mib() -> float:
    """The high-water mark of resident memory; getrusage would show that of the parent too."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    import resource

    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def measure(path: Path, count: int) -> dict[str, float | int]:
    """Read a file in a process of its own and check that nothing is missing."""
    command = [sys.executable, "-m", "benchmarks.records_scale", "--read", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float | int] = json.loads(done.stdout)
    if found["documents"] != count:
        raise SystemExit(f"{path.name}: {found['documents']} of {count} documents were read")
    return found


def results(lines: int, seed: int) -> dict[str, dict[str, float | int]]:
    """One entry for each format."""
    found: dict[str, dict[str, float | int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_taxonomy(taxonomy(), Path(folder) / "taxonomy.tsv")
        for suffix in FORMATS:
            whole, part = Path(folder) / f"whole.{suffix}", Path(folder) / f"part.{suffix}"
            start = time.perf_counter()
            write_records(documents(lines, seed), whole)
            written = time.perf_counter() - start
            write_records(documents(lines // 10, seed), part)
            large, small = measure(whole, lines), measure(part, lines // 10)
            found[suffix] = {
                "documents": lines,
                "file_mib": round(whole.stat().st_size / 2**20, 1),
                "make_and_write_s": round(written, 2),
                "read_s": round(large["seconds"], 2),
                "read_cpu_s": round(large["cpu_seconds"], 2),
                "documents_per_cpu_s": round(lines / large["cpu_seconds"]),
                "peak_mib": large["peak_mib"],
                "peak_mib_of_a_tenth": small["peak_mib"],
            }
            whole.unlink()
    return found


def main() -> int:
    """Measure, print a table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read(options.read)))
        return 0
    found = results(options.lines, options.seed)
    print(f"{'':<22}" + "".join(f"{name:>12}" for name in found))
    for row in next(iter(found.values())):
        print(f"{row:<22}" + "".join(f"{values[row]:>12,}" for values in found.values()))
    command = f"python -m benchmarks.records_scale --lines {options.lines} --seed {options.seed}"
    record = {"benchmark": "records_scale", **provenance(command, options.seed), "results": found}
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
