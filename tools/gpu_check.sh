#!/usr/bin/env bash
# Everything that needs a GPU to be known: parity of the kernels and of the operations, the sanitizer, benchmarks and a
# short training. Writes one JSON file. Needs no network, no compiler and no package source.
#
#   tools/gpu_check.sh --pack FILE.tar.gz         where the build is: what the other machine needs, of build/cuda
#   tools/gpu_check.sh [--output FILE] [--quick]  where the GPU is, in the unpacked folder or in a checkout
#   tools/gpu_check.sh --dry [--output FILE]      everything but the GPU: small, on the CPU, from build/cpu
#
# LibTorch 2.11 with CUDA 13.0 is taken from RETRO_TORCH (a folder with lib/libtorch_cuda.so), from .deps, or from a
# Python that has torch. compute-sanitizer and nsys are used where they are found.
set -uo pipefail
here=$PWD
if [[ -n ${RETRO_DEPS:-} ]]; then RETRO_DEPS=$(realpath -m -- "$RETRO_DEPS"); fi
if [[ -n ${RETRO_TORCH:-} ]]; then RETRO_TORCH=$(realpath -m -- "$RETRO_TORCH"); fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

fail() { echo "gpu_check: $*" >&2 && exit 1; }

output=gpu_check.json has_output=false pack="" dry=false quick=false
while (($#)); do
  case $1 in
    --pack) pack=${2:?a file name} && shift ;;
    --output) output=${2:?a file name} has_output=true && shift ;;
    --dry) dry=true ;;
    --quick) quick=true ;;
    --help | -h) sed -n '2,11s/^# \{0,1\}//p' tools/gpu_check.sh && exit ;;
    *) fail "unknown argument $1" ;;
  esac
  shift
done

programs=(tests/kernels/kernel_gpu_tests tests/device/device_gpu_tests benchmarks/cross_attention_benchmark
  benchmarks/device_step_benchmark tools/retro)

# Paths count from where the script was called; without --output the file lies in the unpacked folder.
if [[ -n $pack && $pack != /* ]]; then pack=$here/$pack; fi
if $has_output && [[ $output != /* ]]; then output=$here/$output; fi

# Libraries of the build machine that another machine may lack: not glibc's, LibTorch's or CUDA's.
libraries_of() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
    { grep -Ev '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux.*|libc10.*|libtorch.*|libcu.*|libnv.*|libnccl.*)\.so' || true; }
}

# A process of its own, so that the first step that fails ends it.
pack_build() (
  set -e
  folder=build/cuda
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch" "$pack.unfinished"' EXIT
  for name in "${programs[@]}"; do
    [[ -x $folder/$name ]] || fail "$folder/$name is missing: cmake --preset cuda -DRETRO_BENCHMARKS=ON, then build it"
    install -D "$folder/$name" "$scratch/packed/build/cuda/$name"
    strip "$scratch/packed/build/cuda/$name"
  done
  mkdir -p "$scratch/packed/build/cuda/lib" "$scratch/packed/tools"
  (cd "$folder" && libraries_of "${programs[@]}") >"$scratch/libraries"
  xargs -r -I{} cp -L {} "$scratch/packed/build/cuda/lib/" <"$scratch/libraries"
  cp tools/gpu_check.sh "$scratch/packed/tools/"
  cp -r configs docs "$scratch/packed/"
  tar -C "$scratch/packed" -czf "$pack.unfinished" .
  mv "$pack.unfinished" "$pack"
  echo "packed $(du -h "$pack" | cut -f1) into $pack"
)
if [[ -n $pack ]]; then
  pack_build # no condition: `set -e` would not hold in one
  exit
fi

find_torch() {
  local candidate
  for candidate in "${RETRO_TORCH:-}" "${RETRO_DEPS:-.deps}/torch" \
    "$(python3 -c 'import torch, pathlib; print(pathlib.Path(torch.__file__).parent)' 2>/dev/null)"; do
    if [[ -n $candidate && -e $candidate/lib/libtorch_cuda.so ]]; then echo "$candidate" && return; fi
  done
  return 1
}

build=build/cuda device=cuda
if $dry; then
  build=build/cpu device=cpu quick=true
  programs=(tests/kernels/kernel_tests tools/retro)
else
  torch=$(find_torch) || fail "no LibTorch with CUDA: set RETRO_TORCH to its folder"
  site=$(dirname "$torch")
  libraries=$PWD/$build/lib:$torch/lib
  for folder in "$site"/nvidia/*/lib /usr/local/cuda/lib64; do libraries+=:$folder; done
  export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  nvidia-smi >/dev/null 2>&1 || fail "no GPU: nvidia-smi does not answer (--dry tries the rest)"
fi
for name in "${programs[@]}"; do [[ -x $build/$name ]] || fail "$build/$name is missing"; done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/steps.tsv"

# step NAME COMMAND...: its output goes to a file, its status and time to the result; the next one runs in any case.
step() {
  local name=$1 start end status
  shift
  echo "== $name"
  start=$(date +%s.%N)
  "$@" >"$work/$name.log" 2>&1
  status=$?
  end=$(date +%s.%N)
  tail -n 2 "$work/$name.log"
  printf '%s\t%s\t%s\t%s\n' "$name" "$status" "$(awk "BEGIN {print $end - $start}")" "$*" >>"$work/steps.tsv"
}

# Our own documentation is the text, a hashed embedder stands for the frozen one: nothing has to be fetched.
short_training() {
  local where=$1 steps=$2
  cat >"$work/run.yaml" <<YAML
directory: $work/run_$where
corpus: {sources: [{name: docs, path: $root/docs, test_share: 0.2, validation_share: 0.2}]}
tokenizer: {vocabulary: 600}
embed: {model: "hashed:64"}
database: {chunk_length: 32}
model: {width: 128, layers: 4, heads: 4, head_width: 32, chunk_length: 32, cca_layers: [1, 3], encoder: {layers: 1}}
train: {steps: $steps, sequence_length: 128, batch_size: 4, neighbours: [2], warmup_steps: 10, log_every: 5}
baseline: {enabled: false}
eval: {shifts: [0, 1]}
sample: {max_tokens: 16}
YAML
  "$build/tools/retro" run "$work/run.yaml" device="$where" && cat "$work/run_$where/training/retro/metrics.jsonl"
}

if $dry; then
  step parity "$build/tests/kernels/kernel_tests" --gtest_filter='*Rotary*'
  step training_cpu short_training cpu 20
else
  filter=()
  if $quick; then filter=(--gtest_filter='-*Sanitizer*'); fi
  step parity "$build/tests/kernels/kernel_gpu_tests" "${filter[@]}"
  step operations "$build/tests/device/device_gpu_tests" "${filter[@]}"
  if sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null); then
    for tool in memcheck racecheck initcheck synccheck; do
      step "sanitizer_$tool" "$sanitizer" --tool "$tool" --error-exitcode 9 \
        "$build/tests/kernels/kernel_gpu_tests" --gtest_filter='*missing*:*Norm*:*AdamW*:*Embedding*'
    done
  fi
  for precision in bfloat16 float32; do
    step "cross_attention_$precision" "$build/benchmarks/cross_attention_benchmark" cuda $precision
  done
  for size in 172m 1.5b; do
    step "step_$size" "$build/benchmarks/device_step_benchmark" train configs/pretrain_$size.yaml 10 device=cuda
  done
  step sampling_172m "$build/benchmarks/device_step_benchmark" sample configs/pretrain_172m.yaml 200 device=cuda
  if command -v nsys >/dev/null; then
    step profile_172m nsys profile --stats=true --force-overwrite=true -o "$work/profile" \
      "$build/benchmarks/device_step_benchmark" train configs/pretrain_172m.yaml 3 device=cuda
  fi
  step training_cuda short_training cuda 200
  step training_cpu short_training cpu 200
fi

facts=$(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader 2>/dev/null | head -1)
python3 - "$work" "$output" "$device" "${facts:-none}" <<'PYTHON'
import json
import pathlib
import sys

work, output, device, gpu = pathlib.Path(sys.argv[1]), *sys.argv[2:]
steps = []
for line in (work / "steps.tsv").read_text().splitlines():
    name, status, seconds, command = line.split("\t")
    log = (work / f"{name}.log").read_text(errors="replace").splitlines()
    results = []
    for entry in log:
        try:
            value = json.loads(entry)
        except ValueError:
            continue
        if isinstance(value, dict):
            results.append(value)
    steps.append({"name": name, "status": int(status), "seconds": float(seconds), "command": command,
                  "results": results, "last_lines": log[-40:]})
passed = bool(steps) and all(step["status"] == 0 for step in steps)
report = {"format": "retro gpu check", "version": 1, "device": device, "gpu": gpu, "passed": passed, "steps": steps}
pathlib.Path(output).write_text(json.dumps(report, indent=1) + "\n")
print(f"{output}: {sum(step['status'] == 0 for step in steps)} of {len(steps)} steps passed")
sys.exit(0 if passed else 1)
PYTHON
