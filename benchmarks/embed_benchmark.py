#!/usr/bin/env python3
"""Embedding real chunks: ours in float32 and bfloat16 beside `transformers` BertModel, in one run. One JSON line.

    cmake --preset cpu -DRETRO_BENCHMARKS=ON && cmake --build --preset cpu --target embed_benchmark
    python3 -m venv /tmp/bench && /tmp/bench/bin/pip install torch==2.11.0 transformers==5.24.0
    /tmp/bench/bin/python benchmarks/embed_benchmark.py build/cpu/benchmarks/embed_benchmark

Same chunks, same threads, both with tokenisation and mean pooling; `transformers` in batches of 32, padded to the longest
of the batch, in document order and again sorted by length. The contestants take turns; the best turn of each counts.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import torch
from transformers import AutoTokenizer, BertModel

BATCH = 32


class Peer:
    """transformers: the mean over real pieces, specials left out."""

    def __init__(self, directory):
        self.tokenizer = AutoTokenizer.from_pretrained(directory)
        self.model = BertModel.from_pretrained(directory).eval()

    @torch.inference_mode()
    def embed(self, texts):
        keys = []
        for begin in range(0, len(texts), BATCH):
            batch = self.tokenizer(texts[begin:begin + BATCH], padding=True, truncation=True, max_length=512,
                                   return_special_tokens_mask=True, return_tensors="pt")
            is_real = (1 - batch.pop("special_tokens_mask")).unsqueeze(-1)
            states = self.model(**batch).last_hidden_state
            keys.append((states * is_real).sum(1) / is_real.sum(1).clamp_min(1))
        return torch.cat(keys).numpy()


def ours(arguments, chunks, precision, folder):
    keys = folder / f"keys_{precision}"
    line = subprocess.run([arguments.program, "embed", arguments.model, chunks, precision, str(arguments.threads), keys],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(line), keys


def nearest(keys):
    """Index of the nearest other key by squared L2."""
    norms = (keys ** 2).sum(1)
    distances = norms[:, None] + norms[None] - 2 * keys @ keys.T
    np.fill_diagonal(distances, np.inf)
    return distances.argmin(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--model", default=".deps/minilm")
    parser.add_argument("--text", default=".deps/text/linux-6.12.jsonl")
    parser.add_argument("--chunks", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        chunks = folder / "chunks.json"
        subprocess.run([arguments.program, "chunks", arguments.text, str(arguments.chunks), chunks], check=True)
        print(json.dumps(measure(arguments, chunks, folder)))


def measure(arguments, chunks, folder):
    texts = json.loads(chunks.read_text())
    peer = Peer(arguments.model)
    lengths = np.array([len(peer.tokenizer(text)["input_ids"]) for text in texts])
    by_length = [texts[i] for i in np.argsort(lengths, kind="stable")]
    peer.embed(texts[:64])
    best = {}
    for _ in range(arguments.turns):
        for name, data in (("transformers", texts), ("transformers_sorted", by_length)):
            start = time.perf_counter()
            reference = peer.embed(data)
            best[name] = min(best.get(name, 1e9), time.perf_counter() - start)
            if data is texts:
                expected = reference
        for precision in ("float32", "bfloat16"):
            result, keys = ours(arguments, chunks, precision, folder)
            best[precision] = min(best.get(precision, 1e9), result["seconds"])
    float32, bfloat16 = (np.fromfile(folder / f"keys_{p}", dtype=np.float32).reshape(expected.shape)
                         for p in ("float32", "bfloat16"))
    fits = lengths <= 512  # the peer cuts longer texts, we read them in windows
    rate = {name: len(texts) / seconds for name, seconds in best.items()}
    return {
        "benchmark": "embedding", "threads": arguments.threads, "chunks": len(texts), "batch": BATCH,
        "retro_float32_chunks_per_second": round(rate["float32"], 1),
        "retro_bfloat16_chunks_per_second": round(rate["bfloat16"], 1),
        "transformers_float32_chunks_per_second": round(rate["transformers"], 1),
        "transformers_float32_sorted_chunks_per_second": round(rate["transformers_sorted"], 1),
        "over_transformers": round(rate["float32"] / rate["transformers"], 2),
        "over_transformers_sorted": round(rate["float32"] / rate["transformers_sorted"], 2),
        "bfloat16_over_float32": round(rate["bfloat16"] / rate["float32"], 2),
        "float32_wordpieces_per_second": round(result["wordpieces"] / best["float32"]),
        "largest_difference": float(np.abs(float32 - expected)[fits].max() / np.abs(expected[fits]).max()),
        "same_nearest_in_bfloat16": float((nearest(float32) == nearest(bfloat16)).mean()),
    }


if __name__ == "__main__":
    main()
