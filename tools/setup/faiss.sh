# FAISS, compiled here because the distribution's binary is baseline x86-64 and several times slower.

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
