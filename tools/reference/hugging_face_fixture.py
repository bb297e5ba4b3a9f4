#!/usr/bin/env python3
"""Small random Llama and GPT-2 models written by `transformers`, with the logits it computes from them.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.11.0 transformers==5.24.0
    /tmp/venv/bin/python tools/reference/hugging_face_fixture.py tests/data/hugging_face

A case is a directory as `save_pretrained` writes it, and expected.safetensors: `ids` [2, 40] and `logits` [2, 40, V],
float32, of the model run in float64 (rotary angles are formed in float32 there, which is what the tests allow for).
"""

import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

VOCABULARY = 96
LENGTH = 40


def llama(**changes):
    values = {"vocab_size": VOCABULARY, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2,
              "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64,
              "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "initializer_range": 0.2, "bos_token_id": 0,
              "eos_token_id": 0}
    values.update(changes)
    return LlamaForCausalLM(LlamaConfig(**values))


def rope(kind, **values):
    return {"rope_theta": 5000.0, "rope_type": kind, **values}


def cases():
    yield "llama", llama(), {}
    yield "llama_tied", llama(tie_word_embeddings=True, rope_parameters=rope("default")), {}
    yield "llama_bias", llama(attention_bias=True, mlp_bias=True, num_key_value_heads=4), {}
    yield "llama_linear", llama(rope_parameters=rope("linear", factor=4.0)), {}
    yield "llama_llama3", llama(rope_parameters=rope(
        "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)), {}
    yield "llama_yarn", llama(max_position_embeddings=128, rope_parameters=rope(
        "yarn", factor=4.0, original_max_position_embeddings=32)), {}
    yield "llama_shards", llama(), {"max_shard_size": "16KB"}
    yield "gpt2", GPT2LMHeadModel(GPT2Config(
        vocab_size=VOCABULARY, n_positions=48, n_embd=24, n_layer=2, n_head=3, n_inner=56, initializer_range=0.2,
        bos_token_id=0, eos_token_id=0)), {}


def randomise(model, generator):
    """Gains and biases away from one and zero, so that each of them shows."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                centre = 1.0 if name.endswith("weight") else 0.0
                weight.copy_(centre + 0.3 * torch.randn(weight.shape, generator=generator))


def main():
    root = pathlib.Path(sys.argv[1])
    generator = torch.Generator().manual_seed(1)
    for index, (name, model, options) in enumerate(cases()):
        torch.manual_seed(index)
        model.init_weights()
        randomise(model, generator)
        model.eval()
        directory = root / name
        model.save_pretrained(directory, **options)
        (directory / "generation_config.json").unlink(missing_ok=True)
        ids = torch.randint(VOCABULARY, (2, LENGTH), generator=generator)
        with torch.no_grad():
            logits = model.double()(ids).logits.float()
        save_file({"ids": ids, "logits": logits.contiguous()}, directory / "expected.safetensors")


if __name__ == "__main__":
    main()
