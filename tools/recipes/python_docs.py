"""python: the .rst sources of Python's documentation, one document a page."""

from packages import debian_files, find_package, run, write_corpus

MIN_BYTES = 200  # below: tables of contents


def documents(package):
    prefix = "html/_sources/"
    for path, content in debian_files(package, lambda path: prefix in path and path.endswith(".rst.txt")):
        if len(content) >= MIN_BYTES:
            name = path.partition(prefix)[2].removesuffix(".txt")
            yield {
                "id": f"python/{name}",
                "title": name,
                "text": content.decode("utf-8"),
                "source": "python",
                "family": "python",
            }


def recipe(packages, out):
    write_corpus(out, "python", documents(find_package(packages, "python3.11-doc_*.deb")))


if __name__ == "__main__":
    run(recipe)
