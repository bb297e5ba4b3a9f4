#!/usr/bin/env bash
# Fetches and builds everything the project needs into one folder, $RETRO_DEPS (default: .deps beside this checkout).
# Run it again at any time: finished steps are skipped without a network, a failed one is tried again.
#
#   tools/setup.sh              libraries, the frozen encoder and the quickstart's text
#   tools/setup.sh --all-text   also the other corpora of tools/recipes
#   tools/setup.sh --cuda       also the libraries that the CUDA half of LibTorch needs
#   tools/setup.sh --llm        also a small language model to fit (SmolLM2-135M-Instruct, 93 MB)
#   tools/setup.sh --tests      also a Chromium for the test of the report page
#   tools/setup.sh --lint       also clang-format and clang-tidy (tools/lint.sh)
#   tools/setup.sh --asan       also a FAISS compiled with the address sanitizer (preset asan)
#   tools/setup.sh --tsan       also one compiled with the thread sanitizer (preset tsan)
# shellcheck disable=SC2154
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
deps=${RETRO_DEPS:-$root/.deps}
for part in common debian libraries faiss sanitizers text; do
  # shellcheck source=/dev/null
  source "$root/tools/setup/$part.sh"
done

all_text=false cuda=false llm=false tests=false lint=false asan=false tsan=false
for argument in "$@"; do
  case $argument in
    --all-text) all_text=true ;;
    --cuda) cuda=true ;;
    --llm) llm=true ;;
    --tests) tests=true ;;
    --lint) lint=true ;;
    --asan) asan=true ;;
    --tsan) tsan=true ;;
    --help | -h) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit ;;
    *) fail "unknown argument $argument (--all-text, --cuda, --llm, --tests, --lint, --asan, --tsan)" ;;
  esac
done

[[ $(uname -sm) == "Linux x86_64" ]] || fail "Linux on x86-64 is needed, this is $(uname -sm)"
grep -qw avx2 /proc/cpuinfo || fail "this CPU has no AVX2, which the build assumes"
mkdir -p "$deps/.stamps" "$deps/logs" "$deps/downloads"
deps=$(cd "$deps" && pwd)
exec 8>"$deps/.lock"
flock -n 8 || { say "waiting for another tools/setup.sh on $deps"; flock 8; }

faiss_key=$(digest "$root/tools/setup/faiss.sh" "$root/tools/setup/blas_kernels.c")
if $tests; then need_browser; fi
if $lint; then need_linter; fi
install_debian_packages
step torch "$torch_sha256" "LibTorch $torch_version" setup_torch
step faiss "$faiss_key" "FAISS for AVX2" setup_faiss
say_faiss_notice
step minilm "$minilm_sha256" "MiniLM encoder $minilm_version" setup_minilm
setup_texts "${quickstart_recipes[@]}"
if $all_text; then setup_texts "${more_recipes[@]}"; fi
if $cuda; then step cuda "$torch_sha256" "CUDA libraries" setup_cuda; fi
if $llm; then step smollm2 "$smollm2_sha256" "SmolLM2 $smollm2_version" setup_smollm2; fi
if $asan; then step faiss-asan "$faiss_key" "FAISS with sanitizers" setup_faiss_asan; fi
if $tsan; then step faiss-tsan "$faiss_key" "FAISS with the thread sanitizer" setup_faiss_tsan; fi
rm -rf "$deps/apt"
say "ready in $deps"
