"""Writes the fixtures of tests/embed: keys of a real and of a small random BERT, computed by `transformers`.

    python -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.11.0 transformers==4.57.6
    /tmp/venv/bin/python tools/reference/bert_fixture.py .deps/minilm tests/data/embed

Recipe of METHOD section 2: windows of 510 pieces, each between [CLS] and [SEP]; the mean over all real pieces.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from tokenizers import BertWordPieceTokenizer, Tokenizer
from transformers import BertConfig, BertForMaskedLM, BertModel

TEXTS = [
    "A cat sat on the mat.",
    "a",
    "!",
    "The quick brown fox jumps over the lazy dog, again and again and again.",
    "In the beginning God created the heaven and the earth.",
    "In the beginning, God created the heavens and the earth.",
    "int main(int argc, char** argv) { return 0; }",
    "Ünïcödé, naïve café; Straße und Übermut",
    "日本語のテキスト と 中文",
    "emoji 😀 and control\u0007 characters \ufffd",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "3.14159 2,718 1e-9 0x1F 100% $5 #1",
    ".. c:function:: struct foo *bar(int baz)\n\n   Returns the :ref:`thing <label>` or NULL.\n",
    "word " * 64,
    "The population of Luxembourg was 660,809 (2023 est.); languages: Luxembourgish, Portuguese, French, German.",
    "tabs\tand\nnewlines\r\nand   many    spaces",
    "x" * 101,
    "[CLS] is not a special token in text, nor is [SEP].",
    "window " * 510,
    "A sentence that is repeated until it needs a second window and a third one. " * 80,
]


def keys_of(model, tokenizer, texts, window=510):
    rows = []
    for text in texts:
        pieces = tokenizer.encode(text, add_special_tokens=False).ids
        states = []
        for begin in range(0, len(pieces), window):
            ids = [tokenizer.token_to_id("[CLS]")] + pieces[begin:begin + window] + [tokenizer.token_to_id("[SEP]")]
            states.append(model(torch.tensor([ids])).last_hidden_state[0, 1:-1].double())
        rows.append(torch.cat(states).mean(0))
    return torch.stack(rows)


def write_minilm(directory, out):
    model = BertModel.from_pretrained(directory, attn_implementation="eager").double().eval()
    tokenizer = Tokenizer.from_file(f"{directory}/tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    keys = keys_of(model, tokenizer, TEXTS).float()
    save_file({"keys": keys}, out / "minilm_keys.safetensors", {"texts": json.dumps(TEXTS)})


def write_random(out):
    """Widths that no register divides, names with `bert.`, weights large enough that every part matters."""
    torch.manual_seed(1)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [chr(c) for c in range(97, 123)]
    pieces += ["##" + chr(c) for c in range(97, 123)] + list(".,;:!?0123456789")
    directory = out / "random_bert"
    directory.mkdir(exist_ok=True)
    (directory / "vocab.txt").write_text("\n".join(pieces) + "\n")
    config = BertConfig(vocab_size=len(pieces), hidden_size=44, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=52, max_position_embeddings=24, type_vocab_size=2, layer_norm_eps=1e-5)
    model = BertForMaskedLM(config).eval()
    for name, parameter in model.bert.named_parameters():
        spread = 0.4 if "weight" in name and "LayerNorm" not in name else 0.2
        parameter.data.normal_(1.0 if name.endswith("LayerNorm.weight") else 0.0, spread)
    save_file({k: v.contiguous() for k, v in model.state_dict().items() if k.startswith("bert.")},
              directory / "model.safetensors")
    config.save_pretrained(directory)
    texts = ["a", "hello, world!", "abcdefghijklmnopqrstuvwxyz", "the cat sat on 2 mats", "q " * 100]
    keys = keys_of(model.bert.double(), BertWordPieceTokenizer(str(directory / "vocab.txt")), texts, window=22)
    save_file({"keys": keys.float()}, directory / "keys.safetensors", {"texts": json.dumps(texts)})


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        write_minilm(sys.argv[1], target)
        write_random(target)
