#!/usr/bin/env python3
"""SmolLM2-135M: forward of 2 x 512 tokens and greedy decoding with a cache, ours beside `transformers`. One JSON line.

    cmake --preset cpu -DRETRO_BENCHMARKS=ON && cmake --build --preset cpu --target imported_model_benchmark
    python3 -m venv /tmp/bench && /tmp/bench/bin/pip install torch==2.11.0 transformers==5.24.0 accelerate gguf
    /tmp/bench/bin/python benchmarks/imported_model_benchmark.py build/cpu/benchmarks/imported_model_benchmark \
        .deps/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

Both compute in float32 from the dequantised weights, on the same token ids. The contestants take turns in processes of their
own; the best turn of each counts. `memory_gb_per_second` is what summing a 1 GiB array reads: decoding has to read every
weight for every token, `bandwidth_share` is how much of it ours reaches.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

import torch


def load(path):
    from transformers import AutoModelForCausalLM
    file = pathlib.Path(path)
    return AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()


@torch.inference_mode()
def peer_forward(path, turns):
    model, ids = load(path), torch.arange(1000, 2024).view(2, 512)
    best = 1e30
    for _ in range(turns):
        start = time.perf_counter()
        model(ids).logits
        best = min(best, time.perf_counter() - start)
    return {"tokens_per_second": round(1024 / best, 1)}


@torch.inference_mode()
def peer_decode(path, tokens):
    model = load(path)
    out = model(torch.arange(1000, 1064)[None], use_cache=True)
    start = time.perf_counter()
    for _ in range(tokens):
        out = model(out.logits[:, -1:].argmax(-1), past_key_values=out.past_key_values, use_cache=True)
    return {"tokens_per_second": round(tokens / (time.perf_counter() - start), 2)}


def memory_gb_per_second():
    array = torch.ones(1 << 28)
    best = 1e30
    for _ in range(5):
        start = time.perf_counter()
        array.sum()
        best = min(best, time.perf_counter() - start)
    return array.numel() * 4 / best / 1e9


def run(command):
    return json.loads(subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout)


def better(best, now):
    return now if best is None or now["tokens_per_second"] > best["tokens_per_second"] else best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("weights")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--passes", type=int, default=3, help="forward passes of a turn")
    parser.add_argument("--tokens", type=int, default=48, help="decoded tokens of a turn")
    parser.add_argument("--peer", choices=["forward", "decode"], help="run the peer alone (used by this script)")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.peer:
        count = arguments.passes if arguments.peer == "forward" else arguments.tokens
        print(json.dumps({"forward": peer_forward, "decode": peer_decode}[arguments.peer](arguments.weights, count)))
        return
    common = ["--threads", arguments.threads, "--passes", arguments.passes, "--tokens", arguments.tokens]
    commands = {}
    for kind, count in (("forward", arguments.passes), ("decode", arguments.tokens)):
        commands[f"peer_{kind}"] = [sys.executable, __file__, arguments.program, arguments.weights, *common, "--peer", kind]
        commands[kind] = [arguments.program, kind, arguments.weights, arguments.threads, count]
    best = {}
    for _ in range(arguments.turns):
        for name, command in commands.items():
            best[name] = better(best.get(name), run(command))
    bandwidth = memory_gb_per_second()
    rate = {name: result["tokens_per_second"] for name, result in best.items()}
    print(json.dumps({"benchmark": "imported model", "threads": arguments.threads, **best,
                      "forward_over_peer": round(rate["forward"] / rate["peer_forward"], 2),
                      "decode_over_peer": round(rate["decode"] / rate["peer_decode"], 2),
                      "memory_gb_per_second": round(bandwidth, 1),
                      "bandwidth_share": round(best["decode"]["weights_read_gb_per_second"] / bandwidth, 2)}))


if __name__ == "__main__":
    main()
