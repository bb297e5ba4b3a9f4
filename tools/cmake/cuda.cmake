# The CUDA half: nvcc, the toolkit's libraries and LibTorch's CUDA libraries. Nothing of it needs a GPU to build.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(RETRO_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(NOT RETRO_NVCC)
    message(FATAL_ERROR "RETRO_CUDA needs a CUDA 13 toolkit: nvcc is neither on PATH nor in /usr/local/cuda/bin")
  endif()
  set(CMAKE_CUDA_COMPILER "${RETRO_NVCC}")
endif()
# sm_80 and sm_90 as machine code, and PTX for what comes later.
set(CMAKE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "GPU architectures")
enable_language(CUDA)
find_package(CUDAToolkit 13 REQUIRED)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
if(RETRO_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# LibTorch's CUDA libraries find these beside themselves at run time; the linker has to be told.
foreach(folder cu13 cusparselt nvshmem nccl cudnn)
  target_link_options(retro_torch INTERFACE "LINKER:-rpath-link,${RETRO_DEPS}/nvidia/${folder}/lib")
endforeach()
target_link_options(retro_torch INTERFACE "LINKER:-rpath-link,${CUDAToolkit_LIBRARY_DIR}")
retro_require_dependency("${RETRO_DEPS}/nvidia/cusparselt/lib/libcusparseLt.so.0" "--cuda")
retro_import_torch_library(c10_cuda)
retro_import_torch_library(torch_cuda)
# Nothing calls torch_cuda by name: it registers itself when it is loaded.
target_link_options(retro_torch INTERFACE "LINKER:--no-as-needed")
target_link_libraries(retro_torch INTERFACE CUDA::cudart CUDA::cublas)
