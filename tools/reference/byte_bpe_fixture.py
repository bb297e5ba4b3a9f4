#!/usr/bin/env python3
"""Writes the byte-level BPE fixtures of tests/text/byte_bpe_tokenizer_test.cpp with the reference tokenizer.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install tokenizers==0.23.3 gguf==0.19.0
    /tmp/venv/bin/python tools/reference/byte_bpe_fixture.py .deps/smollm2/*.gguf tests/data/byte_bpe

tokenizer.json is a small model trained here on the lines themselves, with every byte in its vocabulary; lines.jsonl
holds each line's ids by that vocabulary under four pre-tokenizers, and by SmolLM2's own vocabulary (from the GGUF
file; pre-tokenizer as its published tokenizer.json has it). All with encode_special_tokens: "<|endoftext|>" in a text
is read as text. Where SmolLM2 has no token for a byte, the reference drops it; here that is an error: null.
characters.txt has, for each block of 4,096 characters, the CRC-32 of the ids of a short text around each of them.
"""
import json
import pathlib
import random
import sys
import zlib

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, trainers
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence, Split

import wordpiece_fixture

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
PRE_TOKENIZERS = {
    "gpt2": ByteLevel(add_prefix_space=False),
    "llama3": Sequence([Split(Regex(LLAMA3), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)]),
    "qwen2": Sequence([Split(Regex(LLAMA3.replace("{1,3}", "")), "isolated"),
                       ByteLevel(add_prefix_space=False, use_regex=False)]),
    "digits": Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]),
}
HARD_LINES = [
    "I'm you're he's we've they'll she'd isn't", "I'M YOU'RE HE'S WE'VE THEY'LL SHE'D ISN'T", "'s 't 're 've 'm 'll 'd",
    "'S'T'RE'VE'M'LL'D", "x'sx x'Sx x'\u017fx x'tx", "'re're'RE'rE", "''s '''", "'l 'r 'v", "don\u2019t it\u2019s", "rock'n'roll o'clock", "'", " '", "' s",
    "1 12 123 1234 12345 123456", "a1b22c333d4444", "1,234,567.89", " 1", "  1", "1 ", "12  34", "x 1 y", "٣٤ ۵۶ ५६", "½ ¾ ² ³ Ⅷ ①", "3²", "x²y", "1\n2\n\n3",
    "  two", "   three", "    four", "a  b   c    d", "a ", "a  ", " ", "  ", "   ", "a\n", "a\n\n", "\n", "\n\n", "\n\n\n a", "\na", "\n a", "\n  a", " \n", " \n ", "  \n  \n  a", "a \n b",
    "a\r\nb", "\r\n\r\n", "a\r\n\r\n  b", "\t", "\tx", "\t\tx", " \tx", "\t x", "x\t", "\u00a0x", " \u00a0x", "\u00a0\u00a0x", "x\u3000y", "\u2028x", "x\u2003 y", " \u200bx",
    "!\n", "!\n\n", "!\r\n\n!", "! \n", " !\n x", "...\n\n...", "()\n{}", "a(b)c", "f(x) = {y: [1, 2]};\n\treturn x + 1;\n}", "#include <stdio.h>\n\nint main(void)\n{\n\treturn 0;\n}\n",
    "def f(x):\n    return x ** 2\n\n\nclass A:\n    pass\n", "$x->{y}[0] =~ s/a/b/g;", "SELECT * FROM t WHERE a='b';", "<html>\n  <body class=\"x\">\n", "{\"a\": [1, 2.5, null]}", "\\alpha_{i+1}^2", "a/b\\c",
    "<|endoftext|>", "a<|endoftext|>b", "<|im_start|>user\nhi<|im_end|>\n", "<|endoftext", "|endoftext|>", "<|<|endoftext|>|>", "<repo_name>x<file_sep>", "<pair>", "a<pair>b <pair> c", "<pair><pair>>", "<pai<pair>r>",
    "The capital of France is Paris.", "In 1969, Apollo 11 landed on the Moon.", "Ġ Ċ ĉ", "Ġthe", "▁the", "\ufeffbom", "a\ufffdb", "\x00", "\x04", "\x06\x13\x14\x16\x1d", "\x1b[0m", "\x7f", "\u0080\u0085\u009f",
    "e\u0301 e\u0301e\u0301", "\u0301", " \u0301x", "नमस्ते दुनिया", "สวัสดี", "\u0e33\u0e34x", "한국어 형태소", "日本語、テスト。", "😀😀 👍🏽 👨‍👩‍👧", "\U000f0000", "\U00040000", "\U0010ffff", "\U000105c0\U00010d40\U000116d0", "\U00011de0\U00011de1 \U00016ff4",
    "a" * 47, "a" * 48, "a" * 49, "a" * 500, "ab" * 300, "the" * 100, " " * 47 + "x", " " * 100, "\n" * 60, "-" * 200, "=" * 49 + "\n", "0" * 100, "é" * 30, "中" * 40, "word " * 30, "x y " * 20,
    "supercalifragilisticexpialidocious" * 3, "AAAAAAAAAAAAAAAAAAAAbbbbbbbbbbbbbbbbbbbbbbbbAAAAAAAAAAAAAAAAA", "http://example.org/" + "a/b-c_d." * 20,
]
FUZZ_POOL = "aeTSx'sldtrev  \n\n\r\t019²½.,!(){}<|é中한ß\u017fдй\u0301\u00a0\u3000😀\u200d_-="


def fuzz_lines():
    generator = random.Random(2)
    return ["".join(generator.choice(FUZZ_POOL) for _ in range(generator.randint(1, 50))) for _ in range(120)]


def all_lines():
    return list(dict.fromkeys(HARD_LINES + fuzz_lines() + wordpiece_fixture.hard_lines()))


def small_model(lines):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = PRE_TOKENIZERS["gpt2"]
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=["<|endoftext|>", "<|im_start|>"], show_progress=False,
                                  initial_alphabet=sorted(ByteLevel.alphabet()))
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.add_tokens([AddedToken("<pair>", normalized=False), AddedToken("<pair>>", normalized=False)])
    return tokenizer


def smollm2(path):
    fields = gguf.GGUFReader(path).fields
    tokens, merges, types = (fields["tokenizer.ggml." + name].contents() for name in ("tokens", "merges", "token_type"))
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = PRE_TOKENIZERS["digits"]
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([token for token, kind in zip(tokens, types) if kind == 3])
    return tokenizer


def encoders(small, large):
    def by(name):
        def encode(texts):
            small.pre_tokenizer = PRE_TOKENIZERS[name]
            return [result.ids for result in small.encode_batch(texts, add_special_tokens=False)]
        return encode

    def by_large(texts):
        ids = [result.ids for result in large.encode_batch(texts, add_special_tokens=False)]
        return [line if large.decode(line, skip_special_tokens=False) == text else None for text, line in zip(texts, ids)]

    return {**{name: by(name) for name in PRE_TOKENIZERS}, "smollm2": by_large}


def write_lines(encode, lines, path):
    columns = {name: run(lines) for name, run in encode.items()}
    with open(path, "w", encoding="ascii", newline="\n") as file:
        for i, text in enumerate(lines):
            file.write(json.dumps({"text": text, **{name: ids[i] for name, ids in columns.items()}}, separators=(",", ":")) + "\n")


def write_characters(encode, path, block=4096):
    """Planes 4 to 13 are unassigned and left out."""
    with open(path, "w", encoding="ascii", newline="\n") as file:
        for first in [*range(0, 0x40000, block), *range(0xE0000, 0x110000, block)]:
            texts = ["a%s1 %s\n" % (chr(c), chr(c)) for c in range(first, first + block) if not 0xD800 <= c < 0xE000]
            crc = 0
            for name in ("gpt2", "llama3", "digits"):
                for ids in encode[name](texts) if texts else []:
                    crc = zlib.crc32((" ".join(map(str, ids)) + "\n").encode(), crc)
            file.write("%06X %08X\n" % (first, crc))


def main():
    model, output = map(pathlib.Path, sys.argv[1:3])
    lines = all_lines()
    small, large = small_model(lines), smollm2(model)
    small.save(str(output / "tokenizer.json"), pretty=False)
    for tokenizer in (small, large):
        tokenizer.encode_special_tokens = True
    encode = encoders(small, large)
    write_lines(encode, lines, output / "lines.jsonl")
    write_characters(encode, output / "characters.txt")
    print(len(lines), "lines")


if __name__ == "__main__":
    main()
