#!/usr/bin/env bash
# Configures and builds one preset (default: cpu) with as many jobs as cores and memory allow.
#   tools/build.sh [PRESET [TARGET...]]
set -euo pipefail
if [[ -n ${RETRO_DEPS:-} ]]; then RETRO_DEPS=$(realpath -m -- "$RETRO_DEPS"); fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-cpu}
shift || true
case $preset in
  cpu | cuda | asan | tsan) ;;
  -h | --help) sed -n '2,3s/^# \{0,1\}//p' tools/build.sh && exit ;;
  *) echo "unknown preset $preset (cpu, cuda, asan, tsan)" >&2 && exit 2 ;;
esac
deps=${RETRO_DEPS:-$PWD/.deps}
jobs=$(nproc)
by_memory=$(awk '/^MemAvailable/ {print int($2 / 2097152)}' /proc/meminfo) # a file with LibTorch takes up to 2 GiB
if ((by_memory < jobs)); then jobs=$((by_memory > 1 ? by_memory : 1)); fi

log="build/$preset-configure.log"
mkdir -p build
cmake --preset "$preset" -DRETRO_DEPS="$deps" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}
