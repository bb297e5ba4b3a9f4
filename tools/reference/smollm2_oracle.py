#!/usr/bin/env python3
"""What `transformers` computes from SmolLM2-135M's dequantised weights: the oracle of tests/generate/smollm2_test.cpp.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.11.0 transformers==5.24.0 accelerate gguf
    /tmp/venv/bin/python tools/reference/smollm2_oracle.py .deps/smollm2 .deps/text/wiki.jsonl

Writes smollm2_oracle.safetensors beside the GGUF file (it is not committed). Paragraphs: `ids` [20, 96] (-1 is padding),
`columns` [64] vocabulary ids, `logits` [20, 96, 64] at those, `losses` [20, 95] of the next token, `bytes` [20] of the
paragraphs' scored text. Prompts: `prompts` [10, P] (-1 is padding; each begins with the end of document), `greedy` [10, 32]
and `margins` [10, 32] (top logit minus second).
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

PARAGRAPHS, LENGTH, COLUMNS, STEPS = 20, 96, 64, 32
PROMPTS = ["The capital of France is", "Water boils at", "The largest planet of the solar system is",
           "In the beginning God created", "The Linux kernel is", "A triangle has three",
           "To bake bread you need flour,", "The opposite of hot is", "Shakespeare wrote", "def add(a, b):\n    return"]


def paragraphs(path, tokenizer):
    found = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["text"]
            ids = tokenizer(text)["input_ids"]
            if len(ids) >= LENGTH:
                found.append(ids[:LENGTH])
            if len(found) == PARAGRAPHS:
                return torch.tensor(found)
    raise SystemExit(f"{path}: fewer than {PARAGRAPHS} texts of {LENGTH} tokens")


def main():
    directory, text = pathlib.Path(sys.argv[1]), sys.argv[2]
    gguf = next(directory.rglob("*.gguf"))
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32).eval()
    separator = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    generator = torch.Generator().manual_seed(1)
    columns = torch.randperm(model.config.vocab_size, generator=generator)[:COLUMNS].sort().values
    ids = paragraphs(text, tokenizer)
    logits, losses, scored = [], [], []
    with torch.no_grad():
        for row in ids:
            out = model(row[None]).logits[0]
            logits.append(out[:, columns])
            losses.append(torch.nn.functional.cross_entropy(out[:-1], row[1:], reduction="none"))
            scored.append(len(tokenizer.decode(row[1:]).encode()))
        prompts, greedy, margins = [], [], []
        for prompt in PROMPTS:
            now = [separator] + tokenizer(prompt)["input_ids"]
            prompts.append(now[:])
            line, gaps = [], []
            for _ in range(STEPS):
                top = model(torch.tensor([now])).logits[0, -1].topk(2)
                line.append(int(top.indices[0]))
                gaps.append(float(top.values[0] - top.values[1]))
                now.append(line[-1])
            greedy.append(line)
            margins.append(gaps)
            print(repr(prompt), "->", repr(tokenizer.decode(line)))
    longest = max(map(len, prompts))
    save_file({"ids": ids, "columns": columns, "logits": torch.stack(logits), "losses": torch.stack(losses),
               "bytes": torch.tensor(scored),
               "prompts": torch.tensor([p + [-1] * (longest - len(p)) for p in prompts]),
               "greedy": torch.tensor(greedy), "margins": torch.tensor(margins)},
              gguf.parent / "smollm2_oracle.safetensors")


if __name__ == "__main__":
    main()
