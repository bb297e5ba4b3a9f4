#!/usr/bin/env python3
"""Writes the GGUF fixtures of tests/core/gguf_test.cpp and quantized_blocks_test.cpp with the reference package.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install gguf==0.19.0 safetensors
    /tmp/venv/bin/python tools/reference/gguf_fixture.py tests/data/gguf

blocks.gguf holds one tensor a type, of random blocks: every bit pattern of the numbers, scales of both signs, and in
the first block scales that are zero and subnormal. blocks.safetensors holds what the package's own `dequantize`
(numpy) makes of them. The metadata of blocks.gguf have every value type of the format.
"""
import pathlib
import sys

import gguf
import numpy
from gguf import GGMLQuantizationType as Type
from gguf import GGUFValueType as Value
from safetensors.numpy import save_file

ROWS, COLUMNS = 2, 512
# Byte offsets of the half-precision numbers in a block.
HALVES = {Type.Q8_0: [0], Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q4_K: [0, 2],
          Type.Q5_K: [0, 2], Type.Q6_K: [208]}


def random_blocks(generator, kind):
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = generator.integers(0, 256, (ROWS, COLUMNS // elements, size), dtype=numpy.uint8)
    for offset in HALVES[kind]:
        scales = generator.normal(0, 0.1, blocks.shape[:2]).astype(numpy.float16)
        scales[0, 0] = 0 if offset == 0 else 3e-7
        blocks[:, :, offset:offset + 2] = scales[..., None].view(numpy.uint8)
    return blocks.reshape(ROWS, -1)


def plain(generator, kind):
    values = generator.normal(0, 2, (ROWS, COLUMNS)).astype(numpy.float32)
    return gguf.quantize(values, kind)


def add_metadata(writer):
    writer.add_key_value("test.uint8", 255, Value.UINT8)
    writer.add_key_value("test.int8", -128, Value.INT8)
    writer.add_key_value("test.uint16", 65535, Value.UINT16)
    writer.add_key_value("test.int16", -32768, Value.INT16)
    writer.add_key_value("test.uint32", 4294967295, Value.UINT32)
    writer.add_key_value("test.int32", -2147483648, Value.INT32)
    writer.add_key_value("test.float32", 0.1, Value.FLOAT32)
    writer.add_key_value("test.bool", True, Value.BOOL)
    writer.add_key_value("test.string", "naïve \u2581", Value.STRING)
    writer.add_key_value("test.uint64", 2**64 - 1, Value.UINT64)
    writer.add_key_value("test.int64", -2**63, Value.INT64)
    writer.add_key_value("test.float64", 0.1, Value.FLOAT64)
    writer.add_key_value("test.numbers", [1, -2, 3], Value.ARRAY, Value.INT32)
    writer.add_key_value("test.texts", ["a", "", "bc"], Value.ARRAY, Value.STRING)
    writer.add_key_value("test.flags", [True, False], Value.ARRAY, Value.BOOL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(["<|end|>", "a", "b", "ab"])
    writer.add_token_types([3, 1, 1, 1])
    writer.add_token_scores([0.0, -1.0, -2.0, -3.5])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(0)


def main():
    output = pathlib.Path(sys.argv[1])
    generator = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(str(output / "blocks.gguf"), "test")
    add_metadata(writer)
    expected = {}
    for kind in [Type.F32, Type.F16, Type.BF16, *HALVES]:
        data = random_blocks(generator, kind) if kind in HALVES else plain(generator, kind)
        writer.add_tensor(kind.name.lower(), data, raw_dtype=kind)
        expected[kind.name.lower()] = gguf.dequantize(data, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file(expected, output / "blocks.safetensors")


if __name__ == "__main__":
    main()
