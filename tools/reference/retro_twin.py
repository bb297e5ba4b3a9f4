#!/usr/bin/env python3
"""METHOD.md section 3 once more, in plain PyTorch float64: the independent twin behind the conformance tests.

Written from the page alone, for reading, not for speed: one sequence, one chunk and one attention row at a time. It is
never part of the product.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.11.0 numpy safetensors
    /tmp/venv/bin/python tools/reference/retro_twin.py write tests/data/conformance
    /tmp/venv/bin/python tools/reference/retro_twin.py check tests/data/conformance   # compares with what lies there

A case is two files. NAME.model.safetensors: float32 weights under METHOD's names. NAME.case.safetensors: inputs, float64
logits with retrieval on and off, loss and every gradient. The shape is in the metadata, as JSON.
"""

import json
import math
import pathlib
import sys

import torch
from safetensors import safe_open
from safetensors.torch import save_file

DEFAULTS = {"query_conditioning": True, "cca_positions": True, "retrieved_part": "both",
            "attend_across_documents": True, "tied": False, "share_embeddings": False}


def rms_norm(x, gain):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * gain


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def sinusoid(delta, size):
    """s(delta): size/2 sines, then size/2 cosines."""
    angles = [delta * 10000 ** (-2 * j / size) for j in range(size // 2)]
    return torch.tensor([math.sin(a) for a in angles] + [math.cos(a) for a in angles], dtype=torch.float64)


class Twin:
    def __init__(self, config, weights):
        self.config = {**DEFAULTS, **config}
        self.w = weights

    def attention(self, name, stream, context, is_encoder, delta, is_visible, with_positions=True):
        """Rows of `stream` attend to rows of `context`; delta(i, j) and is_visible(i, j) are functions.

        A row that sees nothing gives 0. Both inputs are already normalised.
        """
        c = self.config
        heads, width = (c["enc_heads"], c["enc_head_width"]) if is_encoder else (c["heads"], c["head_width"])
        size = c["d_enc"] if is_encoder else c["d"]
        w = lambda part: self.w[f"{name}.{part}"]
        query = (stream @ w("query.weight").T).view(-1, heads, width)
        key = (context @ w("key.weight").T).view(-1, heads, width)
        value = (context @ w("value.weight").T).view(-1, heads, width)
        relative = {}
        rows = []
        for i in range(stream.shape[0]):
            seen = [j for j in range(context.shape[0]) if is_visible(i, j)]
            if not seen:
                rows.append(torch.zeros(heads * width, dtype=torch.float64))
                continue
            parts = []
            for h in range(heads):
                scores = []
                for j in seen:
                    score = (query[i, h] + w("content_bias")[h]) @ key[j, h]
                    if with_positions:
                        distance = delta(i, j)
                        if distance not in relative:
                            relative[distance] = (w("relative.weight") @ sinusoid(distance, size)).view(heads, width)
                        score = score + (query[i, h] + w("position_bias")[h]) @ relative[distance][h]
                    scores.append(score / math.sqrt(width))
                parts.append(torch.softmax(torch.stack(scores), 0) @ value[seen, h])
            rows.append(torch.cat(parts))
        return torch.stack(rows) @ w("output.weight").T

    def feed_forward(self, name, x):
        inner = gelu_tanh(rms_norm(x, self.w[f"{name}.norm.weight"]) @ self.w[f"{name}.up.weight"].T)
        return inner @ self.w[f"{name}.down.weight"].T

    def encode(self, ids, hidden, hidden_is_real):
        """One neighbour: ids [r] (-1 is padding), H_u [m, d] -> [r, d']."""
        c = self.config
        table = self.w["decoder.embed.weight" if c["share_embeddings"] else "encoder.embed.weight"]
        x = torch.stack([table[i] if i >= 0 else torch.zeros(c["d_enc"], dtype=torch.float64) for i in ids])
        for layer in range(c["enc_layers"]):
            name = f"encoder.layers.{layer}"
            y = rms_norm(x, self.w[f"{name}.self_attention.norm.weight"])
            x = x + self.attention(f"{name}.self_attention", y, y, True, lambda i, j: i - j, lambda i, j: ids[j] >= 0)
            if layer in c["P_enc"] and c["query_conditioning"]:
                cross = f"{name}.cross_attention"
                y = rms_norm(x, self.w[f"{cross}.norm.weight"])
                context = rms_norm(hidden, self.w[f"{cross}.context_norm.weight"])
                x = x + self.attention(cross, y, context, True, lambda i, j: i - j,
                                       lambda i, j: bool(hidden_is_real[j]))
            x = x + self.feed_forward(f"{name}.feed_forward", x)
        return rms_norm(x, self.w["encoder.norm.weight"])

    def visible_ids(self, ids):
        m = self.config["m"]
        part = self.config["retrieved_part"]
        hidden = {"both": [], "neighbour": range(m, len(ids)), "continuation": range(m)}[part]
        return [-1 if position in hidden else int(i) for position, i in enumerate(ids)]

    def cross_attention(self, name, x, encoded, neighbours, document):
        """encoded[u]: [k * r, d']; neighbours[u]: the k * r ids."""
        c = self.config
        m = c["m"]
        y = rms_norm(x, self.w[f"{name}.norm.weight"])
        update = torch.zeros_like(x)
        for u in range(len(encoded)):
            first = u * m + m - 1
            rows = list(range(first, min(first + m, x.shape[0])))
            if not c["attend_across_documents"]:
                # Row 0 is the chunk's own last token; the others belong to the next chunk.
                rows = [p for p in rows if document[p] == document[u * m]]
            if not rows:
                continue
            r = len(neighbours[u]) // c["k"]
            result = self.attention(name, y[rows], encoded[u], False,
                                    lambda i, j: (rows[i] - first) - j % r + (m - 1),
                                    lambda i, j: neighbours[u][j] >= 0, c["cca_positions"])
            update = update.index_copy(0, torch.tensor(rows), result)
        return x + update

    def sequence_logits(self, ids, real, neighbours, document):
        """ids [n]; neighbours [l][k][r] or None (retrieval off) -> [n, V]."""
        c = self.config
        m = c["m"]
        n = len(ids)
        x = self.w["decoder.embed.weight"][ids]
        encoded = None
        sees = lambda i, j: j <= i and bool(real[j]) and (c["attend_across_documents"] or document[i] == document[j])
        for layer in range(c["layers"]):
            name = f"decoder.layers.{layer}"
            y = rms_norm(x, self.w[f"{name}.self_attention.norm.weight"])
            x = x + self.attention(f"{name}.self_attention", y, y, False, lambda i, j: i - j, sees)
            if layer in c["P"] and neighbours is not None:
                if encoded is None:
                    visible = [[self.visible_ids(value) for value in neighbours[u]] for u in range(n // m)]
                    encoded = [torch.cat([self.encode(value, x[u * m:u * m + m], real[u * m:u * m + m])
                                          for value in visible[u]]) for u in range(n // m)]
                    flat = [[i for value in values for i in value] for values in visible]
                x = self.cross_attention(f"{name}.cross_attention", x, encoded, flat, document)
            x = x + self.feed_forward(f"{name}.feed_forward", x)
        output = self.w["decoder.embed.weight" if c["tied"] else "decoder.output.weight"]
        return rms_norm(x, self.w["decoder.norm.weight"]) @ output.T

    def logits(self, data, with_retrieval):
        rows = []
        for b in range(data["ids"].shape[0]):
            neighbours = data["neighbours"][b].tolist() if with_retrieval else None
            document = data["document"][b] if "document" in data else None
            rows.append(self.sequence_logits(data["ids"][b], data["real"][b], neighbours, document))
        return torch.stack(rows)


def run(config, weights, data):
    """Everything a case file holds beside its inputs."""
    w = {name: weight.double().requires_grad_() for name, weight in weights.items()}
    config = {**config, "k": data["neighbours"].shape[2]}
    twin = Twin(config, w)
    results = {}
    for state in ("off", "on"):
        logits = twin.logits(data, state == "on")
        nll = torch.nn.functional.cross_entropy(logits.flatten(0, 1), data["targets"].flatten(), reduction="none")
        mask = data["target_mask"].flatten().bool()
        loss = nll[mask].mean()
        results[f"logits_{state}"] = logits.detach()
        results[f"loss_{state}"] = loss.detach().view(1)
    loss.backward()
    for name, weight in w.items():
        results[f"grad.{name}"] = weight.grad if weight.grad is not None else torch.zeros_like(weight)
    return results


def attention_shapes(name, size, context, inner, heads, width, has_context_norm=False):
    shapes = {"norm.weight": [size], "query.weight": [inner, size], "key.weight": [inner, context],
              "value.weight": [inner, context], "output.weight": [size, inner], "relative.weight": [inner, size],
              "content_bias": [heads, width], "position_bias": [heads, width]}
    if has_context_norm:
        shapes["context_norm.weight"] = [context]
    return {f"{name}.{part}": shape for part, shape in shapes.items()}


def weight_shapes(c):
    d, e = c["d"], c["d_enc"]
    inner, enc_inner = c["heads"] * c["head_width"], c["enc_heads"] * c["enc_head_width"]
    shapes = {"decoder.embed.weight": [c["vocab"], d], "decoder.norm.weight": [d], "encoder.norm.weight": [e]}
    if not c["tied"]:
        shapes["decoder.output.weight"] = [c["vocab"], d]
    if not c["share_embeddings"]:
        shapes["encoder.embed.weight"] = [c["vocab"], e]
    for stack, layers, size, ff in (("decoder", c["layers"], d, c["ff"]), ("encoder", c["enc_layers"], e, c["enc_ff"])):
        for layer in range(layers):
            name = f"{stack}.layers.{layer}"
            shapes |= {f"{name}.feed_forward.norm.weight": [size], f"{name}.feed_forward.up.weight": [ff, size],
                       f"{name}.feed_forward.down.weight": [size, ff]}
            if stack == "decoder":
                heads = (inner, c["heads"], c["head_width"])
                shapes |= attention_shapes(f"{name}.self_attention", d, d, *heads)
                if layer in c["P"]:
                    shapes |= attention_shapes(f"{name}.cross_attention", d, e, *heads)
            else:
                heads = (enc_inner, c["enc_heads"], c["enc_head_width"])
                shapes |= attention_shapes(f"{name}.self_attention", e, e, *heads)
                if layer in c["P_enc"] and c["query_conditioning"]:
                    shapes |= attention_shapes(f"{name}.cross_attention", e, d, *heads, True)
    return shapes


def random_weights(c, generator):
    """Large enough that every part moves the logits."""
    weights = {}
    for name, shape in sorted(weight_shapes(c).items()):
        noise = torch.randn(shape, generator=generator)
        if len(shape) == 1:
            weights[name] = 1 + 0.2 * noise
        elif name.endswith("_bias"):
            weights[name] = 0.4 * noise
        else:
            weights[name] = noise * (1.0 if "embed" in name else 1.5 / math.sqrt(shape[1]))
    return weights


# Each case: the shape, (batch, n, k, r) and what is special about its inputs.
BASE = {"vocab": 37, "d": 20, "d_enc": 16, "layers": 3, "enc_layers": 2, "heads": 2, "head_width": 6, "enc_heads": 3,
        "enc_head_width": 4, "ff": 28, "enc_ff": 24, "P": [1], "P_enc": [0], "m": 4}
CASES = {
    # CCA in every layer from the first, three neighbours, one unconditioned encoder layer, n no multiple of m.
    "every_layer": ({**BASE, "layers": 2, "enc_layers": 1, "P": [0, 1], "P_enc": [], "query_conditioning": False, "m": 5},
                    (2, 17, 3, 10), "plain"),
    # Documents that do not see each other, padding, conditioning in the encoder's second layer only.
    "documents": ({**BASE, "P": [1, 2], "P_enc": [1], "attend_across_documents": False}, (2, 20, 1, 8), "documents"),
    # One head of odd width; no CCA positions; continuations only; shared and tied embeddings; both encoder layers.
    "ablations": ({**BASE, "d": 14, "d_enc": 14, "heads": 1, "head_width": 9, "enc_heads": 1, "enc_head_width": 5,
                   "P": [0, 2], "P_enc": [0, 1], "m": 3, "tied": True, "share_embeddings": True, "cca_positions": False,
                   "retrieved_part": "continuation"}, (2, 10, 2, 6), "plain"),
    # Neighbours only; a single chunk, whose last token alone reads them; retrieved values longer than two chunks.
    "single_chunk": ({**BASE, "P": [2], "retrieved_part": "neighbour"}, (3, 4, 2, 12), "plain"),
}


def random_inputs(config, shape, kind, generator):
    batch, n, k, r = shape
    m, vocab = config["m"], config["vocab"]
    draw = lambda *size: torch.randint(vocab, size, generator=generator)
    data = {"ids": draw(batch, n), "targets": draw(batch, n), "real": torch.ones(batch, n, dtype=torch.int64),
            "target_mask": torch.ones(batch, n, dtype=torch.int64), "neighbours": draw(batch, n // m, k, r)}
    neighbours = data["neighbours"]
    neighbours[0, 0, -1] = -1                  # a missing neighbour
    neighbours[-1, -1, :, m:] = -1             # an empty continuation
    neighbours[-1, 0, 0, m - 1:m] = -1         # a short chunk with a continuation behind it
    if n // m > 1:
        neighbours[0, 1] = -1                  # a chunk without any neighbour
    data["target_mask"][0, 0] = 0
    if kind == "documents":
        data["document"] = torch.zeros(batch, n, dtype=torch.int64)
        for b in range(batch):
            # Lead chunk, then documents of two chunks and one or two chunks.
            data["document"][b] = torch.tensor([0, 1, 1, 2, 2 + b]).repeat_interleave(m)
            data["real"][b, :m - 1] = 0
            data["real"][b, 3 * m - 2 + b:3 * m] = 0   # a short chunk
            data["neighbours"][b, 0] = -1
        data["real"][1, 4 * m:] = 0                    # a filled-up end
        data["target_mask"] *= data["real"]
    return data


def write(directory):
    directory.mkdir(parents=True, exist_ok=True)
    for number, (name, (config, shape, kind)) in enumerate(CASES.items()):
        generator = torch.Generator().manual_seed(100 + number)
        config = {**DEFAULTS, **config}
        weights = random_weights(config, generator)
        data = random_inputs(config, shape, kind, generator)
        metadata = {"config": json.dumps(config)}
        save_file(weights, directory / f"{name}.model.safetensors", metadata)
        results = run(config, weights, data)
        save_file({k: v.contiguous() for k, v in {**data, **results}.items()},
                  directory / f"{name}.case.safetensors", metadata)
        print(f"{name}: loss off {results['loss_off'].item():.6f}, on {results['loss_on'].item():.6f}")


def read(path):
    with safe_open(path, "pt") as file:
        return json.loads(file.metadata()["config"]), {name: file.get_tensor(name) for name in file.keys()}


def check(directory):
    """Largest difference from each case in the folder, whoever wrote it."""
    pairs = [(p, p.with_name(p.name.replace(".model.", ".case."))) for p in sorted(directory.glob("*.model.safetensors"))]
    pairs += [(p, p.with_name(p.name.replace("model", "case"))) for p in sorted(directory.glob("model*.safetensors"))]
    for model_path, case_path in pairs:
        config, weights = read(model_path)
        _, case = read(case_path)
        results = run(config, weights, case)
        worst = max(((v - case[k]).abs().max() / case[k].abs().max().clamp_min(1e-30)).item()
                    for k, v in results.items())
        missing = {k for k in case if k.startswith("grad.")} ^ {k for k in results if k.startswith("grad.")}
        print(f"{case_path.name}: largest relative difference {worst:.2e}, gradients on one side only: {sorted(missing)}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
