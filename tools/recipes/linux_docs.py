"""linux-6.1, linux-6.12: the .rst sources of two releases of the Linux kernel's documentation, one document a file.

A file of 6.12 belongs to the group of the 6.1 file it continues: the one of the same path, else (renames: all of arch/) the
one that holds most of its word shingles. `change` says what became of it: "unchanged" (the same words), "new" (less than a
fifth of its shingles stand anywhere in 6.1) or "changed".
"""

import re

from packages import debian_files, find_package, run, write_corpus
from shingles import containment, shingles

MIN_BYTES = 200  # below: tables of contents and redirections
RENAMED = 0.5  # containment in one file from which a file of another path is its continuation
NEW = 0.2  # containment in all of the older release below which a file is new


def read_sources(packages, version):
    """{path below Documentation/: text}, without translations and stubs."""
    pattern = re.compile(rf"usr/share/doc/linux-doc-{re.escape(version)}/html/_sources/(?!translations/).*\.rst\.txt")
    prefix = len(f"usr/share/doc/linux-doc-{version}/html/_sources/")
    package = find_package(packages, f"linux-doc-{version}_*.deb")
    return {
        path[prefix:].removesuffix(".txt"): content.decode("utf-8")
        for path, content in debian_files(package, lambda path: pattern.fullmatch(path) is not None)
        if len(content) >= MIN_BYTES
    }


def best_match(part, owner_of):
    """(path, containment) of the older file that holds most of the shingles `part`."""
    counts = {}
    for shingle in part:
        for path in owner_of.get(shingle, ()):
            counts[path] = counts.get(path, 0) + 1
    path = min(counts, key=lambda path: (-counts[path], path), default=None)
    return path, counts.get(path, 0) / max(1, len(part))


def align(old, new):
    """{new path: (old path or None, change)}"""
    owners = {}
    for path, text in old.items():
        for shingle in shingles(text):
            owners.setdefault(shingle, []).append(path)
    aligned = {}
    for path, text in new.items():
        part = shingles(text)
        origin, share = (path, 1.0) if path in old else best_match(part, owners)
        if share < RENAMED:
            origin = None
        if containment(part, owners.keys()) < NEW:
            change = "new"
        elif origin is not None and old[origin].split() == text.split():
            change = "unchanged"
        else:
            change = "changed"
        aligned[path] = (origin, change)
    return aligned


def document(source, path, text, group, **fields):
    return {
        "id": f"{source}/{path}",
        "title": path,
        "text": text,
        "group": f"linux/{group}",
        "source": source,
        "family": "linux",
        **fields,
    }


def recipe(packages, out):
    old, new = read_sources(packages, "6.1"), read_sources(packages, "6.12")
    aligned = align(old, new)
    write_corpus(out, "linux-6.1", (document("linux-6.1", path, text, path) for path, text in old.items()))
    write_corpus(
        out,
        "linux-6.12",
        (
            document("linux-6.12", path, text, aligned[path][0] or path, change=aligned[path][1])
            for path, text in new.items()
        ),
    )


if __name__ == "__main__":
    run(recipe)
