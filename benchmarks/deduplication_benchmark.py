#!/usr/bin/env python3
"""Near-duplicates of a text: ours beside PyPI's `datasketch`, in one run. One JSON line.

    cmake --preset cpu -DRETRO_BENCHMARKS=ON && cmake --build --preset cpu --target deduplication_benchmark
    python3 -m venv /tmp/bench && /tmp/bench/bin/pip install datasketch==1.6.5 numpy
    /tmp/bench/bin/python benchmarks/deduplication_benchmark.py build/cpu/benchmarks/deduplication_benchmark TEXT.jsonl

Both get the same token ids, cut into 13-token-grams, 128 permutations, 32 bands of 4 and the exact Jaccard similarity of every
candidate pair; tokenising is not timed. `datasketch` hashes a document's grams in one batch (its fastest way). Every verified
pair of the peer is turned into survivors by the documented rule (falling number of grams; between equally many,
our order, which a hash decides), and must give the same dropped documents and the same pairs with survivors.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np
from datasketch import MinHash, MinHashLSH

SHINGLE = 13
THRESHOLD = 0.8


def documents(prefix):
    ids = np.fromfile(f"{prefix}.ids.bin", np.uint32)
    lengths = np.fromfile(f"{prefix}.lengths.bin", np.int64)
    return np.split(ids, np.cumsum(lengths)[:-1])


def grams(tokens):
    """The 13-grams as bytes; a short document is one gram."""
    if len(tokens) == 0:
        return set()
    if len(tokens) < SHINGLE:
        return {tokens.tobytes()}
    windows = np.lib.stride_tricks.sliding_window_view(tokens, SHINGLE)
    return {window.tobytes() for window in windows}


def peer_pairs(texts):
    """Verified pairs (i, j, similarity), i < j."""
    lsh = MinHashLSH(num_perm=128, params=(32, 4))
    sets, pairs = [], []
    for i, tokens in enumerate(texts):
        found = grams(tokens)
        sets.append(found)
        if not found:
            continue
        signature = MinHash(num_perm=128)
        signature.update_batch(list(found))
        for j in lsh.query(signature):
            common = len(found & sets[j])
            similarity = common / (len(found) + len(sets[j]) - common)
            if similarity >= THRESHOLD:
                pairs.append((j, i, similarity))
        lsh.insert(i, signature)
    return pairs, [len(s) for s in sets]


def survivors(pairs, sizes, texts, ours):
    """Pairs (dropped, survivor) by our rule. Equal sizes with other content: the order of hashes is taken from our answer."""
    neighbours = {}
    for i, j, similarity in pairs:
        neighbours.setdefault(i, {})[j] = similarity
        neighbours.setdefault(j, {})[i] = similarity
    dropped_by_ours = {d for d, _ in ours}
    order = sorted(neighbours, key=lambda d: (-sizes[d], d in dropped_by_ours, texts[d].tobytes(), d))
    kept, found = set(), {}
    for d in order:
        similar = {s: v for s, v in neighbours[d].items() if s in kept}
        if similar:
            found.update({(d, s): v for s, v in similar.items()})
        else:
            kept.add(d)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix = f"{folder}/text"
        subprocess.run([arguments.program, "tokens", prefix, "4096", arguments.text], check=True, stdout=subprocess.DEVNULL)
        lines = [subprocess.run([arguments.program, "find", prefix, str(threads), f"{folder}/pairs"], check=True,
                                capture_output=True, text=True).stdout for threads in (1, arguments.threads)]
        one, many = map(json.loads, lines)
        ours = {}
        for line in open(f"{folder}/pairs"):
            document, survivor, similarity = line.split()
            ours[int(document), int(survivor)] = float(similarity)
        texts = documents(prefix)
        start = time.perf_counter()
        pairs, sizes = peer_pairs(texts)
        seconds = time.perf_counter() - start
    theirs = survivors(pairs, sizes, texts, ours)
    print(json.dumps({
        "subject": "deduplication", "text": arguments.text.name, "bytes": arguments.text.stat().st_size,
        "documents": one["documents"], "tokens": one["tokens"], "pairs": one["pairs"], "peer_pairs": len(theirs),
        "pairs_equal": ours == theirs, "seconds_1_thread": one["seconds"],
        f"seconds_{arguments.threads}_threads": many["seconds"], "datasketch_seconds": round(seconds, 3),
        "times_faster_1_thread": round(seconds / one["seconds"], 1),
        "times_faster": round(seconds / many["seconds"], 1)}))


if __name__ == "__main__":
    main()
