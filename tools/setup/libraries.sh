# Libraries and weights that are not taken from the system: LibTorch, FAISS, MiniLM.

torch_version=2.11.0
torch_sha256=7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a

# unpack_nvidia NAME VERSION SHA256: a CUDA library wheel, unpacked where LibTorch's run path looks for it.
unpack_nvidia() {
  fetch_wheel "$@"
  unzip -q -o "$wheel" 'nvidia/*' -d "$deps"
  rm -f "$wheel"
}

# libgomp is left out so that the process has one OpenMP runtime, the system's; fmt, protobuf and pybind11
# headers so that they do not hide the system's.
setup_torch() {
  local new="$deps/torch.partial"
  fetch_wheel torch $torch_version $torch_sha256
  rm -rf "$new" && mkdir -p "$new"
  unzip -q "$wheel" 'torch/include/*' 'torch/lib/*.so*' -d "$new" \
    -x 'torch/lib/libgomp*' 'torch/lib/libtorch_python.so' \
    'torch/include/fmt/*' 'torch/include/google/*' 'torch/include/pybind11/*'
  replace_folder "$new/torch" "$deps/torch"
  rm -rf "$new" "$wheel"
  unpack_nvidia nvidia-cuda-runtime 13.0.96 7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
  unpack_nvidia nvidia-cuda-cupti 13.0.85 4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8
}

# Compiles FAISS for AVX2 from the distribution's source package. Its BLAS and LAPACK (single-threaded OpenBLAS) are
# linked in with their symbols hidden: LibTorch exports some BLAS symbols and not others, and the two must not mix.
# build_faiss DESTINATION [compiler flags]
build_faiss() {
  local destination=$1 flags=${2:-} work="$deps/faiss.build" blas=/usr/lib/x86_64-linux-gnu/openblas-serial
  update_private_apt
  rm -rf "$work" && mkdir -p "$work/package" "$work/install/lib"
  (cd "$work/package" && private_apt apt-get source --download-only faiss) ||
    give_up "could not download Debian's faiss source package; run tools/setup.sh again"
  (cd "$work" && dpkg-source --no-check -x package/*.dsc source)
  cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFAISS_OPT_LEVEL=avx2 \
    -DFAISS_ENABLE_GPU=OFF -DFAISS_ENABLE_PYTHON=OFF -DBUILD_TESTING=OFF -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_FLAGS="$flags" \
    -DBLAS_LIBRARIES=$blas/libblas.a -DLAPACK_LIBRARIES=$blas/liblapack.a
  cmake --build "$work/build" --target faiss_avx2
  cc -O2 -fPIC -c "$root/tools/setup/blas_kernels.c" -o "$work/blas_kernels.o"
  # shellcheck disable=SC2086
  g++ -shared -o "$work/install/lib/libfaiss.so" -Wl,-soname,libfaiss.so -Wl,-Bsymbolic -Wl,--no-undefined $flags \
    "$work/blas_kernels.o" -Wl,--whole-archive "$work/build/faiss/libfaiss_avx2.a" -Wl,--no-whole-archive \
    $blas/liblapack.a $blas/libblas.a -Wl,--exclude-libs,liblapack.a:libblas.a -fopenmp -l:libgfortran.so.5 -lpthread
  (cd "$work/source" && find faiss -name '*.h' ! -path '*/gpu/*' -exec cp --parents -t "$work/install" {} +)
  mkdir -p "$work/install/include" && mv "$work/install/faiss" "$work/install/include/faiss"
  cp "$work/source/LICENSE" "$work/install/"
  replace_folder "$work/install" "$destination"
  rm -rf "$work"
}

setup_faiss() { build_faiss "$deps/faiss"; }
setup_faiss_asan() { build_faiss "$deps/faiss-asan" "-fsanitize=address,undefined -fno-omit-frame-pointer -g1"; }
