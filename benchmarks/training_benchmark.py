#!/usr/bin/env python3
"""A training step and sampling near position 450, ours beside retro-pytorch, in one run. One JSON line.

    cmake --preset cpu -DRETRO_BENCHMARKS=ON && cmake --build --preset cpu --target training_benchmark
    python3 -m venv /tmp/bench && /tmp/bench/bin/pip install torch==2.11.0 retro-pytorch==0.3.9 'pyarrow<19'
    /tmp/bench/bin/python benchmarks/training_benchmark.py build/cpu/benchmarks/training_benchmark

Vocabulary 32,000, sequence 512, chunk 64, 2 neighbours, batch 4, width 512, 8 heads of 64, 6 decoder and 2 encoder layers,
cross-attention in 2. The contestants take turns in processes of their own; the best turn of each counts.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import torch


def peer_model():
    from retro_pytorch import RETRO
    return RETRO(num_tokens=32000, chunk_size=64, max_seq_len=512, enc_dim=512, enc_depth=2, enc_cross_attn_layers=(0, 1),
                 dec_dim=512, dec_depth=6, dec_cross_attn_layers=(3, 6), heads=8, dim_head=64, dec_attn_dropout=0.,
                 dec_ff_dropout=0., enc_attn_dropout=0., enc_ff_dropout=0., use_deepnet=False)


def peer_train(steps):
    model = peer_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)
    sequence = torch.randint(0, 32000, (4, 513))
    retrieved = torch.randint(0, 32000, (4, 8, 2, 128))
    best = 1e30
    for step in range(steps + 1):
        start = time.perf_counter()
        loss = model(sequence, retrieved, return_loss=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step > 0:
            best = min(best, time.perf_counter() - start)
    return {"parameters": sum(p.numel() for p in model.parameters()), "tokens_per_second": round(4 * 512 / best, 1),
            "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


@torch.inference_mode()
def peer_sample(tokens):
    model = peer_model().eval()
    sequence = torch.randint(0, 32000, (1, 450))
    retrieved = torch.randint(0, 32000, (1, 7, 2, 128))
    start = time.perf_counter()
    for _ in range(tokens):
        logits = model(sequence, retrieved)
        sequence = torch.cat((sequence, logits[:, -1:].argmax(-1)), 1)
        if sequence.size(1) % 64 == 0:
            retrieved = torch.cat((retrieved, torch.randint(0, 32000, (1, 1, 2, 128))), 1)
    return {"tokens_per_second": round(tokens / (time.perf_counter() - start), 2)}


def run(command):
    return json.loads(subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout)


def better(best, now):
    return now if best is None or now["tokens_per_second"] > best["tokens_per_second"] else best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--peer", choices=["train", "sample"], help="run the peer alone (used by this script)")
    arguments = parser.parse_args()
    if arguments.peer:
        torch.set_num_threads(arguments.threads)
        print(json.dumps(peer_train(2) if arguments.peer == "train" else peer_sample(12)))
        return
    peer = [sys.executable, __file__, "--threads", arguments.threads, "--peer"]
    commands = {
        "peer_train": [*peer, "train"],
        "train_float32": [arguments.program, "train", "float32", arguments.threads, 4],
        "train_bfloat16": [arguments.program, "train", "bfloat16", arguments.threads, 4],
        "peer_sample": [*peer, "sample"],
        "sample_float32": [arguments.program, "sample", "float32", arguments.threads, 60],
    }
    best = {}
    for _ in range(arguments.turns):
        for name, command in commands.items():
            best[name] = better(best.get(name), run(command))
    rate = {name: result["tokens_per_second"] for name, result in best.items()}
    print(json.dumps({"benchmark": "training and sampling", "threads": arguments.threads, **best,
                      "training_over_peer": round(rate["train_float32"] / rate["peer_train"], 2),
                      "bfloat16_training_over_peer": round(rate["train_bfloat16"] / rate["peer_train"], 2),
                      "sampling_over_peer": round(rate["sample_float32"] / rate["peer_sample"], 1)}))


if __name__ == "__main__":
    main()
