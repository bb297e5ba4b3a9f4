# Third-party libraries, each as one imported target. Debian supplies the small ones; tools/setup.sh puts LibTorch
# and FAISS into RETRO_DEPS.
#
#   retro_torch    LibTorch (headers and the CPU half; the CUDA half too with RETRO_CUDA)
#   retro_faiss    FAISS with a BLAS of its own hidden inside
#   PkgConfig::sentencepiece, PkgConfig::xxhash, PkgConfig::utf8proc, ICU::uc, ZLIB::ZLIB, yaml-cpp, fmt::fmt,
#   spdlog::spdlog, nlohmann_json::nlohmann_json, CLI11::CLI11, Eigen3::Eigen, GTest::*, benchmark::benchmark,
#   OpenMP::OpenMP_CXX, Threads::Threads

if(NOT RETRO_DEPS)
  set(RETRO_DEPS "${PROJECT_SOURCE_DIR}/.deps")
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(PkgConfig REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(ICU REQUIRED COMPONENTS uc)
pkg_check_modules(sentencepiece REQUIRED IMPORTED_TARGET sentencepiece)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
if(RETRO_TESTS)
  find_package(GTest REQUIRED)
endif()
if(RETRO_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

function(retro_require_dependency file)
  if(NOT EXISTS "${file}")
    message(FATAL_ERROR "${file} is missing. Run tools/setup.sh ${ARGN} first (or set RETRO_DEPS).")
  endif()
endfunction()

# One shared library of LibTorch. The wheel's own find_package(Torch) demands a CUDA toolkit, so it is not used.
function(retro_import_torch_library name)
  set(file "${RETRO_DEPS}/torch/lib/lib${name}.so")
  retro_require_dependency("${file}")
  add_library(retro_torch_${name} SHARED IMPORTED GLOBAL)
  set_target_properties(retro_torch_${name} PROPERTIES IMPORTED_LOCATION "${file}" IMPORTED_SONAME "lib${name}.so")
  target_link_libraries(retro_torch INTERFACE retro_torch_${name})
endfunction()

# The wheel is not instrumented, so sanitizer builds leave every layer that needs it out.
set(RETRO_TORCH ON)
if(RETRO_SANITIZE)
  set(RETRO_TORCH OFF)
endif()
if(RETRO_TORCH)
  add_library(retro_torch INTERFACE IMPORTED GLOBAL)
  # OpenMP: at::parallel_for is an inline template that runs serially in a file compiled without it.
  target_link_libraries(retro_torch INTERFACE OpenMP::OpenMP_CXX Threads::Threads)
  target_include_directories(retro_torch SYSTEM INTERFACE
    "${RETRO_DEPS}/torch/include" "${RETRO_DEPS}/torch/include/torch/csrc/api/include")
  target_compile_definitions(retro_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  target_link_options(retro_torch INTERFACE "LINKER:-rpath-link,${RETRO_DEPS}/nvidia/cu13/lib")
  retro_import_torch_library(torch_cpu)
  retro_import_torch_library(c10)
endif()

if(RETRO_CUDA AND RETRO_TORCH)
  include(cuda)
endif()

# A sanitizer build takes a FAISS compiled with the same sanitizer (tools/setup.sh --asan, --tsan) where there is one.
set(RETRO_FAISS_ROOT "${RETRO_DEPS}/faiss")
if(RETRO_SANITIZE MATCHES "address" AND EXISTS "${RETRO_DEPS}/faiss-asan/lib/libfaiss.so")
  set(RETRO_FAISS_ROOT "${RETRO_DEPS}/faiss-asan")
elseif(RETRO_SANITIZE MATCHES "thread" AND EXISTS "${RETRO_DEPS}/faiss-tsan/lib/libfaiss.so")
  set(RETRO_FAISS_ROOT "${RETRO_DEPS}/faiss-tsan")
endif()
retro_require_dependency("${RETRO_FAISS_ROOT}/lib/libfaiss.so")
add_library(retro_faiss SHARED IMPORTED GLOBAL)
set_target_properties(retro_faiss PROPERTIES IMPORTED_LOCATION "${RETRO_FAISS_ROOT}/lib/libfaiss.so")
target_include_directories(retro_faiss SYSTEM INTERFACE "${RETRO_FAISS_ROOT}/include")
target_link_libraries(retro_faiss INTERFACE OpenMP::OpenMP_CXX)
