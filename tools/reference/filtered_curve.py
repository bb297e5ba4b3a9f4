#!/usr/bin/env python3
"""The filtered curve of a finished evaluation, computed by brute force from the stored files and compared with result.json.

usage: filtered_curve.py RUN_DIRECTORY [--table]

Shares nothing with the program: the longest common run of a chunk and a value is found by looking up every run of 1, 2, 3, ...
tokens; bits per byte are sums of the stored per-token losses (METHOD section 6). Exits 1 where a count differs, or bits per
byte by more than rounding (1e-12 relative). Needs Python's standard library only.
"""

import argparse
import json
import math
import pathlib
import re
import sys

from run_files import Array, Corpus, Database


def longest_common_run(chunk, values):
    """Grows the length while some run of it stands in one of the values (runs of a run stand there too)."""
    length = 0
    while length < len(chunk):
        runs = {chunk[i:i + length + 1] for i in range(len(chunk) - length)}
        if not any(value[i:i + length + 1] in runs for value in values for i in range(len(value) - length)):
            break
        length += 1
    return length


class Chunk:
    """A row of the evaluated grid: its document and its overlap."""

    def __init__(self, document, length, run):
        self.document = document
        self.overlap = run / length


def evaluated_chunks(run, result):
    """Every row of the grid in order: documents of the split, chunks of m tokens, capped for each document."""
    m, cap, k = result["chunk_length"], result["max_chunks_per_document"], result["overlap_neighbours"]
    corpus, database = Corpus(run), Database(run, m)
    table = Array(run / "neighbours" / "evaluation" / "usual" / "ids.bin")
    chunks = []
    for document in corpus.documents:
        if result["split"] not in document["roles"]:
            continue
        tokens = tuple(corpus.tokens(document)[:cap * m if cap else None])
        for begin in range(0, len(tokens), m):
            chunk = tokens[begin:begin + m]
            values = [tuple(database.value(i)) for i in table.row(len(chunks))[:k] if i >= 0]
            chunks.append(Chunk(document, len(chunk), longest_common_run(chunk, values)))
    if len(chunks) != table.rows:
        raise SystemExit(f"{run}: the table has {table.rows} rows, the split {len(chunks)} chunks")
    return chunks


class Column:
    """Nats and bytes of every row under one system."""

    def __init__(self, run, name):
        folder = run / "eval" / f"{name}.eval"
        nats, self.bytes = Array(folder / "token_nats.bin"), Array(folder / "row_bytes.bin").values
        self.nats = [math.fsum(x for x in nats.row(row) if not math.isnan(x)) for row in range(nats.rows)]


def bits_per_byte(column, rows):
    return math.fsum(column.nats[row] for row in rows) / (math.log(2) * sum(column.bytes[row] for row in rows))


def compare_row(name, found, rows, chunks, columns):
    """Differences between a row of result.json and the brute-force figures."""
    expected = {"chunks": len(rows), "documents": len({chunks[row].document["id"] for row in rows}),
                "bytes": sum(columns[next(iter(columns))].bytes[row] for row in rows)}
    wrong = [f"{name}: {key} {found[key]}, expected {value}" for key, value in expected.items() if found[key] != value]
    for system in found["systems"]:
        bits = bits_per_byte(columns[system["column"]], rows)
        if abs(system["bits_per_byte"] - bits) > 1e-12 * bits:
            wrong.append(f"{name}: {system['column']} {system['bits_per_byte']}, expected {bits}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--table", action="store_true", help="print the curve of everything together")
    arguments = parser.parse_args()
    run = arguments.run
    result = json.loads((run / "eval" / "result.json").read_text(encoding="utf-8"))
    field = re.search(r"^  breakdown: *\"?([^\"\n]*)", (run / "config.yaml").read_text(encoding="utf-8"), re.M).group(1)
    chunks = evaluated_chunks(run, result)
    columns = {name: Column(run, name) for name in result["columns"] if name.endswith(".s0")}
    wrong, compared = [], 0
    for group in result["groups"]:
        members = [row for row, chunk in enumerate(chunks) if group["source"] in ("all", chunk.document["source"]) and
                   (not group["part"] or str(chunk.document["fields"].get(field)) == group["part"])]
        for found in group["filtered"]:
            rows = [row for row in members if chunks[row].overlap <= found["alpha"]]
            name = f"{group['source']} {group['part']} r <= {found['alpha']}"
            wrong += compare_row(name, found, rows, chunks, columns)
            compared += 1 + len(found["systems"])
            if arguments.table and group["source"] == "all":
                print(f"{name}: {len(rows)} chunks", *(f"{s['column']} {s['bits_per_byte']:.4f}" for s in found["systems"]))
    print("\n".join(wrong) or f"ok: {compared} figures over {len(chunks)} chunks are the brute-force program's")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
