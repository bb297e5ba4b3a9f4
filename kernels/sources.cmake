# Every kernel, for nvcc (kernels/CMakeLists.txt), for the simulator (tests/support) and for tools/kernel_resources.py.
set(RETRO_KERNEL_SOURCES
  rms_norm_backward.cu
  rms_norm_forward.cu)
