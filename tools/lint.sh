#!/usr/bin/env bash
# Format of every C++ file, and clang-tidy on the layers that need no LibTorch (one command a file: a tree of its own, build/lint).
#   tools/lint.sh [--format|--present]     --format: the format only; --present: only say which program is missing
set -euo pipefail
if [[ -n ${RETRO_DEPS:-} ]]; then RETRO_DEPS=$(realpath -m -- "$RETRO_DEPS"); fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# clang-format and clang-tidy of other versions say other things.
for program in clang-format clang-tidy; do
  [[ ${1:-} == --format && $program == clang-tidy ]] && continue
  if ! "$program" --version 2>/dev/null | grep -q 'version 14\.'; then
    echo "lint: $program 14 is missing (Debian 12's: tools/setup.sh --lint)" >&2
    exit 1
  fi
done
[[ ${1:-} == --present ]] && exit

mapfile -t files < <(git ls-files -- '*.h' '*.cpp' '*.cu' '*.cuh')
clang-format --dry-run --Werror "${files[@]}"
[[ ${1:-} == --format ]] && exit
mkdir -p build
cmake --preset cpu -B build/lint -DCMAKE_UNITY_BUILD=OFF -DRETRO_DEPS="${RETRO_DEPS:-$PWD/.deps}" >build/lint-configure.log
mapfile -t sources < <(git ls-files -- 'src/core/*.cpp' 'src/text/*.cpp' 'src/retrieval/*.cpp' 'src/report/*.cpp')
printf '%s\0' "${sources[@]}" | xargs -0 -n 4 -P "$(nproc)" \
  clang-tidy --quiet -p build/lint --extra-arg=-Wno-unknown-warning-option # g++'s own warnings are unknown to clang
