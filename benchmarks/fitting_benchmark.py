#!/usr/bin/env python3
"""Training steps of fitting SmolLM2-135M, ours beside a plain PyTorch loop of the same graph, in one run. One JSON line.

    cmake --preset cpu -DRETRO_BENCHMARKS=ON && cmake --build --preset cpu --target fitting_benchmark
    python3 -m venv /tmp/bench && /tmp/bench/bin/pip install torch==2.11.0 transformers==5.24.0 accelerate gguf
    /tmp/bench/bin/python benchmarks/fitting_benchmark.py build/cpu/benchmarks/fitting_benchmark \\
        .deps/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

The shape of configs/fit_smollm2.yaml: 2 sequences of 256, one neighbour of 128 tokens a chunk of 64, cross-attention in layers
11, 17, 23 and 29, an encoder of two layers; float32. The peer has `transformers`' own decoder layers (scaled dot product
attention), frozen, and encoder and cross-attention written with batched matrix products; AdamW, gradients clipped. It reads
the new weights and the batch of our program and has to reach its loss first. The contestants take turns in processes of their
own; the best turn of each counts. Ours runs twice, its threads sharing sequences (what training does) and products.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F

CHUNK, CCA_LAYERS, HEADS, WIDTH = 64, (11, 17, 23, 29), 9, 64


class RmsNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight, 1e-6)


class RelativeAttention(nn.Module):
    """Transformer-XL scores; distance of query i and key j is first + i - j, keys repeat their places every `period`."""

    def __init__(self, size, has_context_norm=False):
        super().__init__()
        inner = HEADS * WIDTH
        self.norm = RmsNorm(size)
        for name in ("query", "key", "value", "output", "relative"):
            setattr(self, name, nn.Linear(size, inner, bias=False))
        self.content_bias = nn.Parameter(torch.zeros(HEADS, WIDTH))
        self.position_bias = nn.Parameter(torch.zeros(HEADS, WIDTH))
        if has_context_norm:
            self.context_norm = RmsNorm(size)

    def forward(self, x, context, offset):
        """x [X, I, D] normalised, context [X, J, D] -> [X, I, D]."""
        rows, keys = x.shape[1], context.shape[1]
        split = lambda y: y.unflatten(-1, (HEADS, WIDTH)).transpose(1, 2)
        query, key, value = split(self.query(x)), split(self.key(context)), split(self.value(context))
        distances = torch.arange(offset - keys + 1, offset + rows)
        relative = self.relative(sinusoids(distances, x.shape[-1])).unflatten(-1, (HEADS, WIDTH)).transpose(0, 1)
        content = (query + self.content_bias[:, None]) @ key.transpose(-1, -2)
        positions = (query + self.position_bias[:, None]) @ relative.transpose(-1, -2)
        index = torch.arange(rows)[:, None] - torch.arange(keys)[None] + keys - 1
        positions = positions.gather(-1, index.expand(*positions.shape[:2], rows, keys))
        scores = (content + positions) / math.sqrt(WIDTH)
        return self.output((scores.softmax(-1) @ value).transpose(1, 2).flatten(-2))


def sinusoids(distances, size):
    frequency = 10000 ** (-2 * torch.arange(size // 2, dtype=torch.float64) / size)
    angles = distances.double()[:, None] * frequency
    return torch.cat((angles.sin(), angles.cos()), 1).float()


class FeedForward(nn.Module):
    def __init__(self, size, inner):
        super().__init__()
        self.norm = RmsNorm(size)
        self.up, self.down = nn.Linear(size, inner, bias=False), nn.Linear(inner, size, bias=False)

    def forward(self, x):
        return self.down(F.gelu(self.up(self.norm(x)), approximate="tanh"))


class EncoderLayer(nn.Module):
    def __init__(self, size, inner, is_conditioned):
        super().__init__()
        self.self_attention = RelativeAttention(size)
        self.cross_attention = RelativeAttention(size, True) if is_conditioned else None
        self.feed_forward = FeedForward(size, inner)

    def forward(self, x, hidden):
        y = self.self_attention.norm(x)
        x = x + self.self_attention(y, y, 0)
        if self.cross_attention is not None:
            part = self.cross_attention
            x = x + part(part.norm(x), part.context_norm(hidden), 0)
        return x + self.feed_forward(x)


class Encoder(nn.Module):
    def __init__(self, size, inner):
        super().__init__()
        self.layers = nn.ModuleList([EncoderLayer(size, inner, layer == 0) for layer in range(2)])
        self.norm = RmsNorm(size)

    def forward(self, x, hidden):
        for layer in self.layers:
            x = layer(x, hidden)
        return self.norm(x)


class Peer(nn.Module):
    def __init__(self, path):
        super().__init__()
        from transformers import AutoModelForCausalLM
        file = pathlib.Path(path)
        base = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
        self.base = base.requires_grad_(False)
        size = base.config.hidden_size
        self.encoder = Encoder(size, 1536)
        self.cross = nn.ModuleDict({str(layer): RelativeAttention(size) for layer in CCA_LAYERS})

    def loss(self, tokens, neighbours, targets):
        model = self.base.model
        x = model.embed_tokens(tokens)
        batch, length, size = x.shape
        chunks = length // CHUNK
        angles = model.rotary_emb(x, torch.arange(length)[None])
        encoded = None
        for number, layer in enumerate(model.layers):
            x = x + layer.self_attn(layer.input_layernorm(x), position_embeddings=angles, attention_mask=None)[0]
            if number in CCA_LAYERS:
                if encoded is None:
                    hidden = x.view(batch * chunks, CHUNK, size)
                    encoded = self.encoder(model.embed_tokens(neighbours.flatten(0, 2)), hidden)
                part = self.cross[str(number)]
                # Rows m-1 .. n-1, and m-1 rows of nothing that complete the last chunk.
                rows = F.pad(part.norm(x)[:, CHUNK - 1:], (0, 0, 0, CHUNK - 1)).view(batch * chunks, CHUNK, size)
                update = part(rows, encoded, CHUNK - 1).view(batch, chunks * CHUNK, size)
                x = x + F.pad(update[:, :length - CHUNK + 1], (0, 0, CHUNK - 1, 0))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        logits = self.base.lm_head(model.norm(x)).flatten(0, 1)
        return F.cross_entropy(logits, targets.flatten(), reduction="sum")

    def read_weights(self, case):
        own = {f"encoder.{name}": weight for name, weight in self.encoder.named_parameters()}
        for layer in CCA_LAYERS:
            for name, weight in self.cross[str(layer)].named_parameters():
                own[f"decoder.layers.{layer}.cross_attention.{name}"] = weight
        theirs = {name for name in case.keys() if name.startswith(("encoder.", "decoder."))}
        assert theirs == set(own), theirs ^ set(own)
        with torch.no_grad():
            for name, weight in own.items():
                weight.copy_(case.get_tensor(name))


def peer(path, case_path, steps):
    from safetensors import safe_open
    model = Peer(path).train()
    with safe_open(case_path, "pt") as case:
        model.read_weights(case)
        batch = [case.get_tensor(name) for name in ("tokens", "neighbours", "targets")]
        expected = float(case.get_tensor("loss"))
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)
    best, first = 1e30, None
    for step in range(steps + 1):
        start = time.perf_counter()
        loss = model.loss(*batch)
        (loss / batch[2].numel()).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if first is None:
            first = float(loss.detach())
        else:
            best = min(best, time.perf_counter() - start)
    if abs(first / expected - 1) > 1e-4:
        raise SystemExit(f"the peer's loss is {first}, ours {expected}: not the same graph")
    return {"tokens_per_second": round(batch[0].numel() / best, 1), "loss_ratio": round(first / expected, 7)}


def run(command):
    return json.loads(subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout)


def better(best, now):
    return now if best is None or now["tokens_per_second"] > best["tokens_per_second"] else best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("weights")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4, help="timed steps of a turn")
    parser.add_argument("--peer", help="run the peer alone on this case (used by this script)")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.peer:
        print(json.dumps(peer(arguments.weights, arguments.peer, arguments.steps)))
        return
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        case = pathlib.Path(folder) / "case.safetensors"
        ours = [arguments.program, arguments.weights, arguments.threads, arguments.steps, case]
        theirs = [sys.executable, __file__, arguments.program, arguments.weights, "--threads", arguments.threads,
                  "--steps", arguments.steps, "--peer", case]
        for _ in range(arguments.turns):
            best["ours"] = better(best.get("ours"), run(ours))
            best["ours_sharing_products"] = better(best.get("ours_sharing_products"), run([*ours, "products"]))
            best["peer"] = better(best.get("peer"), run(theirs))
    print(json.dumps({"benchmark": "fitting", "threads": arguments.threads, **best, "ours_over_peer": round(
        best["ours"]["tokens_per_second"] / best["peer"]["tokens_per_second"], 2)}))


if __name__ == "__main__":
    main()
