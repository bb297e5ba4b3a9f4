#!/usr/bin/env python3
"""Questions with known answers and passages from the factbook: "What is the capital of Kenya?".

usage: factbook_questions.py FACTBOOK.jsonl OUT.jsonl

One JSON object a line: id, question, answers, document (id of the factbook document that tells), title, split ("train" or "test",
a fifth of the countries by hash). With --passages the passage that tells is given beside three of other countries; without,
`retro qa` retrieves from the run's database.
"""

import argparse
import hashlib
import json
import pathlib
import re

# Pattern of a field within a document, and the question it answers.
FIELDS = {
    "capital": (r"^Capital:\nname: ([^\n;(]+)", "What is the capital of {}?"),
    "code": (r"^Internet country code: (\.[a-z]+)", "What is the internet country code of {}?"),
    "adjective": (r"^Nationality:\nnoun: [^\n]*\nadjective: ([^\n;(,]+)", "What do people from {} call themselves?"),
}
WORDS_OF_PASSAGE = 40


def passage(text, match):
    """Whole lines around the field, about a hundred words."""
    before = text[:match.start()].splitlines()[-2:]
    after = " ".join(text[match.start():].split()[:WORDS_OF_PASSAGE])
    return "\n".join(before + [after])


def facts(documents):
    for document in documents:
        for field, (pattern, question) in FIELDS.items():
            match = re.search(pattern, document["text"], re.M)
            if match is None or not match.group(1).strip():
                continue
            digest = hashlib.sha1(document["id"].encode()).digest()
            yield {
                "id": f"{field}/{document['id']}",
                "question": question.format(document["title"]),
                "answers": [match.group(1).strip()],
                "document": document["id"],
                "title": document["title"],
                "split": "test" if digest[0] % 5 == 0 else "train",
                "passages": [{"title": document["title"], "text": passage(document["text"], match)}],
            }


def with_distractors(questions, count=3):
    """The telling passage at a place that the hash decides, among those of other countries."""
    for i, question in enumerate(questions):
        digest = hashlib.sha1(question["id"].encode()).digest()
        others = [questions[(i + digest[1] + step) % len(questions)] for step in range(1, len(questions) + 1)]
        passages = [other["passages"][0] for other in others if other["title"] != question["title"]][:count]
        passages.insert(digest[2] % (count + 1), question["passages"][0])
        yield {**question, "passages": passages}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("factbook", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--passages", action="store_true", help="give passages instead of having them retrieved")
    arguments = parser.parse_args()
    with arguments.factbook.open(encoding="utf-8") as lines:
        questions = list(facts(json.loads(line) for line in lines))
    if arguments.passages:
        questions = list(with_distractors(questions))
    else:
        questions = [{key: value for key, value in q.items() if key != "passages"} for q in questions]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("".join(json.dumps(q, ensure_ascii=False) + "\n" for q in questions), encoding="utf-8")
    print(f"{len(questions)} questions, {sum(q['split'] == 'test' for q in questions)} of them for the test: {arguments.out}")


if __name__ == "__main__":
    main()
