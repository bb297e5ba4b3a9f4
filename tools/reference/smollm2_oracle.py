#!/usr/bin/env python3
"""What `transformers` computes from SmolLM2-135M's dequantised weights in float32: the oracle of tests/generate/smollm2_test.cpp.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.11.0 transformers==5.24.0 accelerate gguf
    /tmp/venv/bin/python tools/reference/smollm2_oracle.py .deps/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf \\
        .deps/text/wiki.jsonl tests/data/smollm2/oracle.safetensors

Three minutes on two cores. The file holds figures only, no text and no weights:
- paragraphs, the first 96 tokens of the first 20 articles that have as many: `fingerprints` [20] of their ids (sum of
  id * (place + 1)), `columns` [64] vocabulary ids, `logits` [20, 12, 64] at those and at positions 7, 15, ..., 95, `losses`
  [20, 95] of the next token, which every logit takes part in;
- prompts: `prompts` [10, P] (-1 is padding; each begins with the end of document), `greedy` [10, 32] and `margins` [10, 32]
  (top logit minus second);
- articles, every hundredth of the wiki source, each read after an end of document: `article_tokens`, `article_nats` (float64)
  and `article_bytes` [A].
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

PARAGRAPHS, LENGTH, COLUMNS, EVERY, STEPS, ARTICLE_STEP = 20, 96, 64, 8, 32, 100
PROMPTS = ["The capital of France is", "Water boils at", "The largest planet of the solar system is",
           "In the beginning God created", "The Linux kernel is", "A triangle has three",
           "To bake bread you need flour,", "The opposite of hot is", "Shakespeare wrote", "def add(a, b):\n    return"]


def next_losses(logits, ids):
    return torch.nn.functional.cross_entropy(logits[:-1], ids[1:], reduction="none")


def paragraph_figures(model, texts, tokenizer):
    rows = [ids for ids in (tokenizer(text)["input_ids"] for text in texts) if len(ids) >= LENGTH][:PARAGRAPHS]
    if len(rows) < PARAGRAPHS:
        raise SystemExit(f"only {len(rows)} articles of {LENGTH} tokens, expected {PARAGRAPHS}")
    ids = torch.tensor([row[:LENGTH] for row in rows])
    columns = torch.randperm(model.config.vocab_size, generator=torch.Generator().manual_seed(1))[:COLUMNS].sort().values
    logits, losses = [], []
    for row in ids:
        out = model(row[None]).logits[0]
        logits.append(out[EVERY - 1::EVERY, columns])
        losses.append(next_losses(out, row))
    return {"fingerprints": (ids * torch.arange(1, LENGTH + 1)).sum(1), "columns": columns,
            "logits": torch.stack(logits), "losses": torch.stack(losses)}


def greedy_figures(model, tokenizer, separator):
    prompts, greedy, margins = [], [], []
    for prompt in PROMPTS:
        prompts.append([separator] + tokenizer(prompt)["input_ids"])
        line, gaps = [], []
        out = model(torch.tensor([prompts[-1]]), use_cache=True)
        for _ in range(STEPS):
            top = out.logits[0, -1].topk(2)
            line.append(int(top.indices[0]))
            gaps.append(float(top.values[0] - top.values[1]))
            out = model(torch.tensor([[line[-1]]]), past_key_values=out.past_key_values, use_cache=True)
        greedy.append(line)
        margins.append(gaps)
        print(repr(prompt), "->", repr(tokenizer.decode(line)))
    longest = max(map(len, prompts))
    return {"prompts": torch.tensor([p + [-1] * (longest - len(p)) for p in prompts]),
            "greedy": torch.tensor(greedy), "margins": torch.tensor(margins)}


def article_figures(model, texts, tokenizer, separator):
    tokens, nats, sizes = [], [], []
    for text in texts[::ARTICLE_STEP]:
        ids = torch.tensor([separator] + tokenizer(text)["input_ids"])
        tokens.append(len(ids) - 1)
        nats.append(next_losses(model(ids[None]).logits[0], ids).double().sum())
        sizes.append(len(text.encode()))
    bits = torch.stack(nats).sum() / torch.log(torch.tensor(2.0, dtype=torch.float64)) / sum(sizes)
    print(f"{len(tokens)} articles, {sum(tokens)} tokens, {sum(sizes)} bytes: {bits:.5f} bits per byte")
    return {"article_tokens": torch.tensor(tokens), "article_nats": torch.stack(nats), "article_bytes": torch.tensor(sizes)}


@torch.inference_mode()
def main():
    gguf, wiki, out = map(pathlib.Path, sys.argv[1:4])
    tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = transformers.AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32).eval()
    separator = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    with open(wiki, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    figures = {**paragraph_figures(model, texts, tokenizer), **greedy_figures(model, tokenizer, separator),
               **article_figures(model, texts, tokenizer, separator)}
    out.parent.mkdir(parents=True, exist_ok=True)
    save_file(figures, out, {"transformers": transformers.__version__, "torch": torch.__version__})


if __name__ == "__main__":
    main()
