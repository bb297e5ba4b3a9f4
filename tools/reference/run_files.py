"""Reads the files of a run with Python's standard library alone (docs/formats.md)."""

import json
import pathlib
import struct

FORMATS = {1: "B", 2: "H", 3: "I", 4: "q", 5: "f", 8: "i", 9: "Q", 10: "d"}


class Array:
    """A file of rows x columns values; row(i) is a sequence."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        if data[:8] != b"RETROARR":
            raise ValueError(f"{path}: no array file")
        value_type, self.rows, self.columns = struct.unpack_from("<4xIQQ", data, 32)
        self.values = memoryview(data)[128:].cast(FORMATS[value_type])

    def row(self, index):
        return self.values[index * self.columns:(index + 1) * self.columns]


def json_lines(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Corpus:
    def __init__(self, run):
        self.documents = json_lines(run / "corpus" / "documents.jsonl")
        self.ids = Array(run / "corpus" / "tokens.bin").values

    def tokens(self, document):
        return self.ids[document["first_token"]:document["first_token"] + document["num_tokens"]]


class Database:
    """Values [N, F] by chunk id."""

    def __init__(self, run, chunk_length):
        self.m = chunk_length
        self.spans = []  # of every chunk: shard's tokens, begin, document's end
        for shard in sorted((run / "database").glob("shard_*")):
            ids = Array(shard / "tokens.bin").values
            first = 0
            for document in json_lines(shard / "documents.jsonl"):
                end = first + document["tokens"]
                self.spans += [(ids, begin, end) for begin in range(first, end, chunk_length)]
                first = end

    def value(self, chunk):
        """Up to 2 m tokens: chunk and continuation are contiguous text of one document."""
        ids, begin, end = self.spans[chunk]
        return ids[begin:min(begin + 2 * self.m, end)]
