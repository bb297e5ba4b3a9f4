#!/usr/bin/env python3
"""Our indexes beside the one autofaiss chooses: the half of scale_benchmark.py that runs in its virtual environment.

Both sides get the same keys and the same held-out queries. recall@10 is counted against an exact search by faiss-cpu; a
neighbour no farther than the tenth counts as found. autofaiss chooses index and parameters by itself; then its search
parameter takes the lowest setting whose recall is at least that of ours. All take turns; the best turn of each counts.
"""

import argparse
import json
import pathlib
import re
import subprocess
import time

import faiss
import numpy as np
from autofaiss import build_index

K = 10
TYPES = ["ivf_pq", "ivf_flat"]
TURNS = 5


class Truth:
    """The exact neighbours of the queries."""

    def __init__(self, keys, queries):
        self.keys, self.queries = keys, queries
        flat = faiss.IndexFlatL2(keys.shape[1])
        flat.add(keys)
        start = time.time()
        flat.search(queries, K)
        self.queries_per_second = len(queries) / (time.time() - start)
        tenth = self.distances(flat.search(queries, K)[1])[:, -1]
        self.farthest = tenth * (1 + 1e-6)

    def distances(self, rows):
        """Squared L2 in float64; a missing row is infinitely far."""
        found = np.full(rows.shape, np.inf)
        for x, own in enumerate(rows):
            there = own >= 0
            found[x, there] = ((self.keys[own[there]].astype(np.float64) - self.queries[x]) ** 2).sum(1)
        return found

    def recall(self, rows):
        return float((self.distances(rows) <= self.farthest[:, None]).mean())


def say(line):
    print(json.dumps({"benchmark": "scale", **line}), flush=True)


def ours(program, work, index_type, threads):
    line = json.loads(subprocess.run([program, "search", work, index_type, str(threads), str(TURNS)], check=True,
                                     capture_output=True, text=True).stdout)
    rows = np.fromfile(work / f"{index_type}.rows", np.int64).reshape(-1, K)
    return line["queries_per_second"], rows


def best_speed(index, queries, threads):
    faiss.omp_set_num_threads(threads)
    index.search(queries, K)
    seconds = []
    for _ in range(TURNS):
        start = time.time()
        index.search(queries, K)
        seconds.append(time.time() - start)
    return len(queries) / min(seconds)


def settings(index, infos):
    """Settings of the search parameter from cheap to dear, by the kind of index."""
    parameter = "efSearch" if "efSearch" in infos.get("index_param", "") else "nprobe"
    steps = sorted({round(2 ** (power / 3)) for power in range(3 * 10)})
    return [f"{parameter}={step}" for step in steps if step >= (K if parameter == "efSearch" else 1)]


def lowest_setting(index, infos, truth, recall):
    """The first setting whose recall is at least this; the whole of what autofaiss set beside it stays."""
    space = faiss.ParameterSpace()
    for setting in settings(index, infos):
        space.set_index_parameters(index, re.sub(r"(efSearch|nprobe)=\d+", setting, infos["index_param"]))
        reached = truth.recall(index.search(truth.queries, K)[1])
        if reached >= recall:
            return setting, reached
    return setting, reached


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("database", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    work, threads = arguments.work, arguments.threads

    held_out = subprocess.run([arguments.program, "hold_out", arguments.database, work], check=True, capture_output=True, text=True).stdout
    print(held_out, end="", flush=True)
    width = json.loads(held_out)["key_width"]
    keys = np.fromfile(work / "keys.f32", np.float32).reshape(-1, width)
    queries = np.fromfile(work / "queries.f32", np.float32).reshape(-1, width)
    faiss.omp_set_num_threads(threads)
    truth = Truth(keys, queries)
    say({"part": "exact", "system": "faiss-cpu", "version": faiss.__version__, "threads": threads,
         "queries_per_second": truth.queries_per_second})

    start = time.time()
    index, infos = build_index(embeddings=keys, save_on_disk=True, index_path=str(work / "autofaiss.index"),
                               index_infos_path=str(work / "autofaiss.json"), metric_type="l2", nb_cores=threads, verbose=40)
    peer = {"part": "index", "system": "autofaiss", "choice": infos["index_key"], "parameters": infos["index_param"],
            "seconds": time.time() - start, "bytes": (work / "autofaiss.index").stat().st_size}
    peer["recall_at_10"] = truth.recall(index.search(queries, K)[1])
    say(peer)
    for index_type in TYPES:
        print(subprocess.run([arguments.program, "index", work, index_type, str(threads)], check=True, capture_output=True,
                             text=True).stdout, end="", flush=True)
        recall = truth.recall(ours(arguments.program, work, index_type, threads)[1])
        setting, reached = lowest_setting(index, infos, truth, recall)
        for count in sorted({1, threads}):
            say({"part": "search", "type": index_type, "threads": count, "recall_at_10": recall,
                 "queries_per_second": ours(arguments.program, work, index_type, count)[0],
                 "autofaiss": {"setting": setting, "recall_at_10": reached,
                               "queries_per_second": best_speed(index, queries, count)}})


if __name__ == "__main__":
    main()
