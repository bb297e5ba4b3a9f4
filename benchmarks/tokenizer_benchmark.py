#!/usr/bin/env python3
"""Byte-level BPE with SmolLM2's vocabulary: ours beside Hugging Face's `tokenizers`, one thread each, CPU seconds.
The ids of every document must be equal. One JSON line a text.

    cmake --preset cpu -DRETRO_BENCHMARKS=ON && cmake --build --preset cpu --target tokenizer_benchmark
    python3 -m venv /tmp/bench && /tmp/bench/bin/pip install tokenizers==0.23.3 gguf==0.19.0
    /tmp/bench/bin/python benchmarks/tokenizer_benchmark.py build/cpu/benchmarks/tokenizer_benchmark .deps

`tokenizers` gets all documents in one call; its model is that of tools/reference/byte_bpe_fixture.py.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import numpy  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools" / "reference"))
import byte_bpe_fixture  # noqa: E402

TURNS = 3


def peer(tokenizer, texts):
    best, ids = float("inf"), None
    for _ in range(TURNS):
        begin = time.process_time()
        encoded = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        best = min(best, time.process_time() - begin)
        ids = numpy.concatenate([numpy.array(one.ids, numpy.int32) for one in encoded])
    return ids, best


def main():
    program, deps = sys.argv[1], pathlib.Path(sys.argv[2])
    model = next((deps / "smollm2").glob("*.gguf"))
    tokenizer = byte_bpe_fixture.smollm2(model)
    tokenizer.encode_special_tokens = True
    for name in sys.argv[3:] or ["wiki", "linux-6.12"]:
        path = deps / "text" / f"{name}.jsonl"
        texts = [json.loads(line)["text"] for line in open(path, encoding="utf-8")]
        with tempfile.NamedTemporaryFile() as file:
            line = subprocess.run([program, model, path, file.name], check=True, capture_output=True, text=True).stdout
            ours, ids = json.loads(line), numpy.fromfile(file.name, numpy.int32)
        theirs, seconds = peer(tokenizer, texts)
        megabytes = ours["bytes"] / 1e6
        print(json.dumps({"text": name, **ours, "equal_ids": bool(numpy.array_equal(ids, theirs)),
                          "ours_mb_per_s": round(megabytes / ours["seconds"], 1),
                          "tokenizers_mb_per_s": round(megabytes / seconds, 1),
                          "ratio": round(seconds / ours["seconds"], 1)}), flush=True)


if __name__ == "__main__":
    main()
