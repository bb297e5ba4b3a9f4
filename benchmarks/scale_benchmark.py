#!/usr/bin/env python3
"""A retrieval database at scale. JSON lines on stdout.

    cmake --preset cpu -DRETRO_BENCHMARKS=ON && cmake --build --preset cpu --target scale_benchmark retro
    benchmarks/scale_benchmark.py build CONFIG [key=value ...]   corpus, database and index of a run, one after another: seconds,
                                                                 bytes a chunk, memory over time (memory.csv in the run)
    benchmarks/scale_benchmark.py plot MEMORY.csv GIGABYTES      that memory over time as an SVG, with the budget as a line
    benchmarks/scale_benchmark.py search DATABASE WORK           our indexes beside autofaiss's choice on held-out queries
    benchmarks/scale_benchmark.py project CHUNKS BUILD.jsonl     bytes and hours of so many chunks, from a line of `build`

`build` asks for the resident memory of each stage's processes every 0.2 s; pages of mapped files count. `search` makes its
own virtual environment in WORK with autofaiss and the faiss-cpu that comes with it, and goes on there.
"""

import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ["autofaiss==2.18.0", "faiss-cpu==1.15.1", "pyarrow==17.0.0"]
STAGES = ["tokenizer", "corpus", "database", "index"]


def resident_bytes(pid):
    """Of a process and its children; 0 once it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return (int(found[1]) * 1024 if found else 0) + sum(map(resident_bytes, children))


def run_watched(command):
    """Runs it; seconds, and (seconds since its start, resident bytes) every 0.2 s."""
    start, samples = time.time(), []
    with subprocess.Popen(command, stdout=sys.stderr) as process:
        while process.poll() is None:
            samples.append((round(time.time() - start, 2), resident_bytes(process.pid)))
            time.sleep(0.2)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {process.returncode}")
    return time.time() - start, samples


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def run_directory(arguments):
    for override in arguments.overrides:
        if override.startswith("directory="):
            return pathlib.Path(override.removeprefix("directory="))
    return pathlib.Path(re.search(r"^directory:\s*(\S+)", pathlib.Path(arguments.config).read_text(), re.M)[1])


def build(arguments):
    run_directory(arguments).mkdir(parents=True, exist_ok=True)
    stages, rows, offset = {}, [], 0.0
    for stage in STAGES:
        seconds, samples = run_watched([arguments.programs / "tools" / "retro", "stage", stage, arguments.config,
                                        *arguments.overrides])
        stages[stage] = {"seconds": round(seconds, 1), "peak_resident_bytes": max(resident for _, resident in samples)}
        rows += [(stage, round(offset + at, 2), resident) for at, resident in samples]
        offset += seconds
    run = run_directory(arguments)
    with open(run / "memory.csv", "w", newline="") as file:
        csv.writer(file).writerows([("stage", "seconds", "resident_bytes"), *rows])
    report = json.loads((run / "index" / "index.json").read_text())["report"]
    manifest = json.loads((run / "database" / "manifest.json").read_text())
    chunks = report["num_indexed"]
    sizes = {"database": size_of(run / "database"), "index": size_of(run / "index")}
    return {"benchmark": "scale", "part": "build", "chunks": chunks, "embedder": manifest["embedder"],
            "key_storage": manifest["key_storage"], "key_width": manifest["key_width"], "stages": stages, "bytes": sizes,
            "bytes_per_chunk": {name: round(size / chunks, 1) for name, size in sizes.items()},
            "seconds_per_chunk": {name: stages[name]["seconds"] / chunks for name in sizes},
            "index": report["reason"], "lists": report["num_lists"], "recall_at_10": report["recall_at_10"]}


def plot(arguments):
    """Prints the SVG: a line of each stage's samples, a dashed one at the budget."""
    with open(arguments.memory, newline="") as file:
        rows = [(row["stage"], float(row["seconds"]), int(row["resident_bytes"]) / 1e9) for row in csv.DictReader(file)]
    width, height, left, bottom = 640, 260, 48, 36
    end, top = rows[-1][1], max(arguments.gigabytes, max(row[2] for row in rows)) * 1.1
    x = lambda seconds: left + seconds / end * (width - left - 10)
    y = lambda gigabytes: height - bottom - gigabytes / top * (height - bottom - 10)
    text = lambda at, value, anchor="middle": (
        f'<text x="{at[0]:.0f}" y="{at[1]:.0f}" font-size="12" font-family="sans-serif" text-anchor="{anchor}">{value}</text>')
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">')
    print(f'<rect width="{width}" height="{height}" fill="white"/>')
    print(f'<path d="M{left} 10V{height - bottom}H{width - 10}" fill="none" stroke="black"/>')
    print(f'<path d="M{left} {y(arguments.gigabytes):.1f}H{width - 10}" stroke="#c03" stroke-dasharray="5 4"/>')
    print(text((width - 12, y(arguments.gigabytes) - 5), f"budget, {arguments.gigabytes:g} GB", "end"))
    for place, (stage, colour) in enumerate(zip(STAGES, ("#777", "#26a", "#083", "#a50"))):
        highest = {}  # of each pixel
        for _, seconds, resident in (row for row in rows if row[0] == stage):
            pixel = round(x(seconds))
            highest[pixel] = max(highest.get(pixel, 0), resident)
        points = [(pixel, y(resident)) for pixel, resident in highest.items()]
        print(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="'
              + " ".join(f"{at},{height_at:.1f}" for at, height_at in points) + '"/>')
        print(text(((points[0][0] + points[-1][0]) / 2, height - bottom + 15 + 13 * (place % 2)), stage))
    for gigabytes in (0, 0.5, 1, 1.5, 2):
        print(text((left - 6, y(gigabytes) + 4), f"{gigabytes:g}", "end"))
    print(text((left + 4, 20), "GB resident", "start"), text((width - 10, height - 5), f"{end:.0f} s", "end"), sep="\n")
    print("</svg>")


def search(arguments):
    work = pathlib.Path(arguments.work)
    python = work / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True, stdout=sys.stderr)
    peer = pathlib.Path(__file__).with_name("scale_benchmark_peer.py")
    subprocess.run([python, peer, arguments.programs / "benchmarks" / "scale_benchmark", arguments.database, work / "data",
                    "--threads", str(arguments.threads)], check=True)


def project(arguments):
    """What grows with the chunks is multiplied; a shard's lists are those of the measured index."""
    lines = [json.loads(line) for line in pathlib.Path(arguments.build).read_text().splitlines() if line.startswith("{")]
    measured = next(line for line in lines if line.get("part") == "build")
    chunks = float(arguments.chunks)
    seconds = dict(measured["seconds_per_chunk"])
    if arguments.chunks_per_second:
        seconds["database"] = 1 / arguments.chunks_per_second
    return {"benchmark": "scale", "part": "project", "chunks": chunks, "measured_chunks": measured["chunks"],
            "database_terabytes": round(measured["bytes_per_chunk"]["database"] * chunks / 1e12, 2),
            "index_terabytes": round(measured["bytes_per_chunk"]["index"] * chunks / 1e12, 2),
            "machine_years": {name: round(value * chunks / 3.156e7, 2) for name, value in seconds.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "cpu")
    parts = parser.add_subparsers(dest="part", required=True)
    part = parts.add_parser("build")
    part.add_argument("config")
    part.add_argument("overrides", nargs="*")
    part = parts.add_parser("plot")
    part.add_argument("memory")
    part.add_argument("gigabytes", type=float)
    part = parts.add_parser("search")
    part.add_argument("database")
    part.add_argument("work")
    part.add_argument("--threads", type=int, default=2)
    part = parts.add_parser("project")
    part.add_argument("chunks")
    part.add_argument("build")
    part.add_argument("--chunks-per-second", type=float, help="of an encoder measured elsewhere")
    arguments = parser.parse_args()
    line = {"build": build, "plot": plot, "search": search, "project": project}[arguments.part](arguments)
    if line:
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
