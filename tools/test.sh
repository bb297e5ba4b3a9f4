#!/usr/bin/env bash
# Every test: set-up, build, ctest, then the quickstart itself on a small configuration. Ends with "N passed, N failed".
#   tools/test.sh           what every change must pass
#   tools/test.sh --long    also the long tests, the sanitizers and the linter
set -euo pipefail
if [[ -n ${RETRO_DEPS:-} ]]; then RETRO_DEPS=$(realpath -m -- "$RETRO_DEPS"); fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

long=false
case ${1:-} in
  "") ;;
  --long) long=true ;;
  *) echo "usage: tools/test.sh [--long]" >&2 && exit 2 ;;
esac

passed=0 failed=0
# check NAME COMMAND...: counts one more test.
check() {
  local name=$1
  shift
  echo "== $name"
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: $name"; fi
}

# run_ctest PRESET [ARGUMENT...]: counts every test of a build. A build without tests is a failure.
run_ctest() {
  local preset=$1 log="build/$1-ctest.log" all bad
  shift
  echo "== ctest, preset $preset"
  ctest --preset "$preset" --no-tests=error "$@" 2>&1 | tee "$log" || true
  read -r bad all < <(sed -n 's/.*tests passed, \([0-9]*\) tests* failed out of \([0-9]*\).*/\1 \2/p' "$log") || true
  if [[ -z ${all:-} ]]; then bad=1 all=1; fi
  passed=$((passed + all - bad)) failed=$((failed + bad))
}

if $long; then tools/setup.sh --tests --lint --asan --tsan; else tools/setup.sh --tests; fi
export RETRO_DEPS=${RETRO_DEPS:-$PWD/.deps}
tools/build.sh cpu
if $long; then run_ctest cpu; else run_ctest cpu -LE long; fi
rm -rf runs/ci
check "quickstart on configs/ci.yaml" tools/quickstart.sh configs/ci.yaml
check "figures of that run" tools/check_ci_run.py runs/ci
check "page of that run in a browser" python3 -B tests/report/browser/look.py runs/ci/report.html build/screenshots
check "filtered curve of that run by an independent program" tools/reference/filtered_curve.py runs/ci
if $long; then
  tools/build.sh asan
  run_ctest asan
  tools/build.sh tsan
  run_ctest tsan
  if tools/lint.sh --present; then check "linter" tools/lint.sh; else echo "skipped: linter"; fi
fi

echo "$passed passed, $failed failed"
((failed == 0))
