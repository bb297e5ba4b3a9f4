"""Runs of words, to tell how much of one text stands in another."""

SHINGLE_WORDS = 8


def shingles(text, length=SHINGLE_WORDS):
    """The set of hashes of all runs of `length` words (of the whole text if it is shorter)."""
    words = text.split()
    if not words:
        return set()
    last = max(1, len(words) - length + 1)
    return {hash(" ".join(words[i : i + length])) for i in range(last)}


def containment(part, whole):
    """Share of the shingles `part` that are also in `whole`; 0 for an empty part."""
    return len(part & whole) / len(part) if part else 0.0
