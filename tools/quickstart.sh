#!/usr/bin/env bash
# From nothing to a trained RETRO, its evaluation and one HTML page: set-up, build, `retro run`.
#   tools/quickstart.sh [CONFIG [KEY=VALUE...]]     (default: configs/quickstart.yaml)
set -euo pipefail
here=$PWD
if [[ -n ${RETRO_DEPS:-} ]]; then RETRO_DEPS=$(realpath -m -- "$RETRO_DEPS"); fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

config=${1:-configs/quickstart.yaml}
if [[ $config != /* && -e $here/$config ]]; then config=$here/$config; fi # else one of this checkout
case $config in
  -h | --help) sed -n '2,3s/^# \{0,1\}//p' tools/quickstart.sh && exit ;;
  *) [[ -e $config ]] || { echo "$config: no such configuration (configs/ has some)" >&2 && exit 2; } ;;
esac
export RETRO_DEPS=${RETRO_DEPS:-$PWD/.deps}
tools/setup.sh
tools/build.sh cpu retro
build/cpu/tools/retro run "$config" "dependencies=$RETRO_DEPS" "${@:2}"
