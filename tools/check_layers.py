#!/usr/bin/env python3
"""Fails where a layer includes or links what the table of docs/architecture.md does not allow.

    tools/check_layers.py [ROOT]       check a source tree (default: this one)
    tools/check_layers.py --self-test  plant violations in a scratch tree and check that each is found
"""

import re
import sys
import tempfile
from pathlib import Path

# A layer may include itself and these. embed_bert is the part of the embed folder that needs LibTorch.
LAYERS = {
    "core": "",
    "text": "core",
    "kernels": "",
    "ops": "core kernels",
    "embed": "core text",
    "embed_bert": "core text ops embed",
    "retrieval": "core text embed",
    "model": "core ops",
    "data": "core text retrieval",
    "train": "core data model ops",
    "generate": "core text retrieval model ops",
    "eval": "core text data retrieval model generate ops",
    "report": "core text",
    "run": "core text kernels ops embed embed_bert retrieval model data train generate eval report",
    "tools": "core text kernels ops embed embed_bert retrieval model data train generate eval report run",
}
ALLOWED = {layer: {layer, *row.split()} for layer, row in LAYERS.items()}
TORCH_FREE = {"core", "text", "kernels", "embed", "retrieval", "report"}
TORCH_HEADER = re.compile(r"(torch|ATen|c10|caffe2)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
LAYER_CALL = re.compile(r"retro_(?:layer|executable)\s*\((.*?)\)", re.S)


def embed_sources(root, layer):
    """Stems of the files that src/embed/CMakeLists.txt gives to the library `layer`."""
    path = root / "src" / "embed" / "CMakeLists.txt"
    calls = LAYER_CALL.findall(path.read_text(encoding="utf-8")) if path.exists() else []
    words = next((call.split() for call in calls if f"NAME {layer} " in " ".join(call.split()) + " "), [])
    return {word.removesuffix(".cpp") for word in words if word.endswith(".cpp")}


def embed_layer(root, path):
    """The two libraries of the embed folder: a public header is the Torch-free one's unless its source is the other's."""
    if path.parts[0] == "include":
        return "embed_bert" if path.stem in embed_sources(root, "embed_bert") else "embed"
    return "embed" if path.stem in embed_sources(root, "embed") else "embed_bert"


def layer_of(root, path):
    """Layer of a path below the root such as src/core/error.cpp or include/retro/core/error.h; None for other files."""
    parts = path.parts
    if parts[0] in ("kernels", "tools"):
        return parts[0]
    layer = parts[1] if parts[0] == "src" else parts[2] if parts[:2] == ("include", "retro") else None
    return embed_layer(root, path) if layer == "embed" else layer if layer in LAYERS else None


def included_layer(root, header):
    """Layer that an include reaches, None for third-party and private headers."""
    parts = Path(header).parts
    if parts[0] == "kernels":
        return "kernels"
    if parts[0] == "retro" and len(parts) > 2:
        return layer_of(root, Path("include") / header)
    return None


def include_violations(root, path):
    layer = layer_of(root, path.relative_to(root))
    if layer is None:
        return
    text = path.read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        header = match[2]
        where = f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start(2)) + 1}"
        target = included_layer(root, header)
        if target is not None and target not in ALLOWED[layer]:
            yield f"{where}: {layer} may not include {target} ({header})"
        if target is None and header.startswith("retro/"):
            yield f"{where}: {header} is in no layer"
        if header.startswith(".."):
            yield f"{where}: {header} leaves its folder"
        if layer in TORCH_FREE and TORCH_HEADER.match(header):
            yield f"{where}: {layer} is free of LibTorch ({header})"


def link_violations(root, path):
    text = re.sub(r"#.*", "", path.read_text(encoding="utf-8"))
    for call in LAYER_CALL.finditer(text):
        words = call[1].split()
        name = words[words.index("NAME") + 1] if "NAME" in words else ""
        layer = name if name in LAYERS else "tools" if path.parent.name == "tools" else None
        where = path.relative_to(root)
        if layer is None:
            yield f"{where}: {name} is not a layer"
            continue
        for link in re.findall(r"retro::(\w+)", call[1]):
            if link in LAYERS and link not in ALLOWED[layer]:
                yield f"{where}: {layer} may not link {link}"
        if layer in TORCH_FREE and "TORCH" in words:
            yield f"{where}: {layer} is free of LibTorch"


def violations(root):
    sources = [
        path
        for folder in ("include/retro", "src", "kernels", "tools")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".h", ".cpp", ".cu", ".cuh")
    ]
    lists = sorted((root / "src").rglob("CMakeLists.txt")) + [root / "tools" / "CMakeLists.txt"]
    for path in sources:
        yield from include_violations(root, path)
    for path in lists:
        if path.exists():
            yield from link_violations(root, path)


PLANTED = {
    "include/retro/core/error.h": '#include <string>\n#include "retro/core/log.h"\n',
    "src/core/error.cpp": '#include "retro/core/error.h"\n// #include "retro/text/chunker.h"\n#include "retro/text/chunker.h"\n',
    "src/text/chunker.cpp": '#include "retro/core/error.h"\n#include <torch/torch.h>\n#include "../core/secret.h"\n',
    "src/embed/bert_embedder.cpp": '#include "retro/ops/rms_norm.h"\n#include <ATen/core/Tensor.h>\n',
    "src/embed/hashed_embedder.cpp": '#include "retro/ops/rms_norm.h"\n',
    "src/retrieval/retriever.cpp": '#include "retro/embed/chunk_embedder.h"\n#include "retro/embed/bert_embedder.h"\n',
    "src/embed/CMakeLists.txt": "retro_layer(NAME embed SOURCES hashed_embedder.cpp)\n"
    "retro_layer(NAME embed_bert SOURCES bert_embedder.cpp LINKS retro::embed retro::ops TORCH)\n",
    "src/model/decoder.cpp": '#  include "retro/retrieval/retriever.h"\n#include "retro/nowhere/x.h"\n',
    "src/core/CMakeLists.txt": "retro_layer(NAME core SOURCES error.cpp LINKS fmt::fmt)\n",
    "src/model/CMakeLists.txt": "retro_layer(NAME model\n  SOURCES a.cpp\n  LINKS retro::ops retro::retrieval TORCH)\n",
    "src/retrieval/CMakeLists.txt": "retro_layer(NAME retrieval SOURCES a.cpp LINKS retro::embed TORCH)\n",
    "tools/CMakeLists.txt": "retro_executable(NAME retro SOURCES main.cpp LINKS retro::run)\n",
}
FOUND = [
    "src/core/error.cpp:3: core may not include text (retro/text/chunker.h)",
    "src/embed/hashed_embedder.cpp:1: embed may not include ops (retro/ops/rms_norm.h)",
    "src/model/decoder.cpp:1: model may not include retrieval (retro/retrieval/retriever.h)",
    "src/model/decoder.cpp:2: retro/nowhere/x.h is in no layer",
    "src/retrieval/retriever.cpp:2: retrieval may not include embed_bert (retro/embed/bert_embedder.h)",
    "src/text/chunker.cpp:2: text is free of LibTorch (torch/torch.h)",
    "src/text/chunker.cpp:3: ../core/secret.h leaves its folder",
    "src/model/CMakeLists.txt: model may not link retrieval",
    "src/retrieval/CMakeLists.txt: retrieval is free of LibTorch",
]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in PLANTED.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = list(violations(root))
    if found != FOUND:
        print("expected:", *FOUND, "found:", *found, sep="\n  ")
        return 1
    print(f"self-test: all {len(FOUND)} planted violations were found and nothing else")
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    found = list(violations(root))
    print(*found, sep="\n")
    print(f"{len(found)} arrows that the layer table does not have" if found else "layers: every arrow is in the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
