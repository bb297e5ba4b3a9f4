# shellcheck shell=bash disable=SC2034,SC2154,SC1091
# FAISS, compiled here because the distribution's binary is baseline x86-64 and several times slower.

# Leaves the static library in $archive and the headers in $headers/faiss.
# faiss_from_source WORK [compiler flags]
faiss_from_source() {
  local work=$1 flags=${2:-}
  mkdir -p "$work/package"
  (cd "$work/package" && private_apt apt-get source --download-only faiss) ||
    give_up "could not download the source package of faiss; run tools/setup.sh again"
  (cd "$work" && dpkg-source --no-check -x package/*.dsc source)
  cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFAISS_OPT_LEVEL=avx2 \
    -DFAISS_ENABLE_GPU=OFF -DFAISS_ENABLE_PYTHON=OFF -DBUILD_TESTING=OFF -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_FLAGS="$flags" \
    -DBLAS_LIBRARIES="$blas/libblas.a" -DLAPACK_LIBRARIES="$blas/liblapack.a"
  cmake --build "$work/build" --target faiss_avx2
  archive="$work/build/faiss/libfaiss_avx2.a" headers="$work/source"
}

# The distribution's static library, where there is no source package. Search is several times slower.
faiss_from_distribution() {
  local work=$1
  fetch_deb "$work" libfaiss-dev
  dpkg-deb -x "$work"/libfaiss-dev_*.deb "$work/binary"
  archive=$(find "$work/binary" -name libfaiss.a) headers="$work/binary/usr/include"
  touch "$work/install/BASELINE"
}

# One shared library with BLAS and LAPACK (single-threaded OpenBLAS) inside, their symbols hidden: LibTorch exports
# some BLAS symbols and not others, and the two must not mix.
# link_faiss DESTINATION [linker flags]
link_faiss() {
  local destination=$1 flags=${2:-}
  mkdir -p "$destination/lib" "$destination/include"
  cc -O2 -fPIC -c "$root/tools/setup/blas_kernels.c" -o "$destination/blas_kernels.o"
  # shellcheck disable=SC2086
  g++ -shared -o "$destination/lib/libfaiss.so" -Wl,-soname,libfaiss.so -Wl,-Bsymbolic $flags \
    "$destination/blas_kernels.o" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive \
    "$blas/liblapack.a" "$blas/libblas.a" -Wl,--exclude-libs,liblapack.a:libblas.a \
    -fopenmp -l:libgfortran.so.5 -lpthread
  rm "$destination/blas_kernels.o"
  (cd "$headers" && find faiss -name '*.h' ! -path '*/gpu/*' -exec cp --parents -t "$destination/include" {} +)
}

# build_faiss DESTINATION [compiler flags]
build_faiss() {
  local destination=$1 flags=${2:-} work="$deps/faiss.build" archive headers
  local blas=/usr/lib/x86_64-linux-gnu/openblas-serial
  rm -rf "$work" && mkdir -p "$work/install"
  update_private_apt
  if ! compgen -G "$deps/apt/lists/*_Sources*" >/dev/null; then
    faiss_from_distribution "$work"
  else
    faiss_from_source "$work" "$flags"
  fi
  link_faiss "$work/install" "$flags"
  replace_folder "$work/install" "$destination"
  rm -rf "$work"
}

# Undefined behaviour is looked for in our own code only.
setup_faiss() { build_faiss "$deps/faiss"; }
setup_faiss_asan() { build_faiss "$deps/faiss-asan" "-fsanitize=address -fno-omit-frame-pointer -g1"; }

say_faiss_notice() {
  if [[ -f $deps/faiss/BASELINE ]]; then
    say "notice: FAISS is the distribution's baseline build (no source package was found): search is several times slower"
  fi
}
