#!/usr/bin/env bash
# From nothing to a trained RETRO, its evaluation and one HTML page: set-up, build, `retro run`.
#   tools/quickstart.sh [CONFIG [KEY=VALUE...]]     (default: configs/quickstart.yaml)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

config=${1:-configs/quickstart.yaml}
export RETRO_DEPS=${RETRO_DEPS:-$PWD/.deps}
tools/setup.sh
tools/build.sh cpu retro
build/cpu/tools/retro run "$config" "dependencies=$RETRO_DEPS" "${@:2}"
