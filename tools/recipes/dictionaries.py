"""foldoc, jargon, gcide, wn: dictionaries in dictd's format, one document an entry.

An index line is headword, offset and length (base 64 digits); the data is gzip. Several headwords may point to one entry: the
first in the index names it. FOLDOC copies from the Jargon File, so the two are one family and equal headwords share a group.
"""

import gzip

from packages import RecipeError, debian_files, find_package, run, write_corpus

DIGITS = {digit: value for value, digit in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
FAMILIES = {"foldoc": "terms", "jargon": "terms", "gcide": "gcide", "wn": "wn"}


def number(digits):
    value = 0
    for digit in digits:
        value = value * 64 + DIGITS[digit]
    return value


def entries(index, data):
    """Yields (headword, offset, text) of every distinct entry, in the order of the data."""
    first = {}
    for line in index.decode("utf-8").splitlines():
        headword, offset, length = line.split("\t")[:3]
        if not headword.startswith("00"):
            first.setdefault((number(offset), number(length)), headword)
    for (offset, length), headword in sorted(first.items()):
        if offset + length > len(data):
            raise RecipeError(f"the entry {headword!r} ends at byte {offset + length} of {len(data)}")
        yield headword, offset, data[offset : offset + length].decode("utf-8", errors="replace")


def documents(source, index, data):
    for headword, offset, text in entries(index, data):
        if text.strip():
            row = {
                "id": f"{source}/{offset}",
                "title": headword,
                "text": text,
                "source": source,
                "family": FAMILIES[source],
            }
            if FAMILIES[source] == "terms":
                row["group"] = f"terms/{headword.casefold()}"
            yield row


def recipe(packages, out):
    for source in FAMILIES:
        package = find_package(packages, f"dict-{source}_*.deb")
        wanted = {f"usr/share/dictd/{source}.index", f"usr/share/dictd/{source}.dict.dz"}
        data, index = (content for _, content in debian_files(package, wanted.__contains__))
        write_corpus(out, source, documents(source, index, gzip.decompress(data)))


if __name__ == "__main__":
    run(recipe)
