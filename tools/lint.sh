#!/usr/bin/env bash
# Format of every C++ file, and clang-tidy on the layers that need no LibTorch (one command a file: a tree of its own, build/lint).
#   tools/lint.sh [--format]     --format: the format only
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t files < <(git ls-files -- '*.h' '*.cpp' '*.cu' '*.cuh')
clang-format --dry-run --Werror "${files[@]}"
[[ ${1:-} == --format ]] && exit
mkdir -p build
cmake --preset cpu -B build/lint -DCMAKE_UNITY_BUILD=OFF -DRETRO_DEPS="${RETRO_DEPS:-$PWD/.deps}" >build/lint-configure.log
mapfile -t sources < <(git ls-files -- 'src/core/*.cpp' 'src/text/*.cpp' 'src/retrieval/*.cpp' 'src/report/*.cpp')
printf '%s\0' "${sources[@]}" | xargs -0 -n 4 -P "$(nproc)" \
  clang-tidy --quiet -p build/lint --extra-arg=-Wno-unknown-warning-option # g++'s own warnings are unknown to clang
