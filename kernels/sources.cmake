# Every kernel, for nvcc (kernels/CMakeLists.txt), for the simulator (tests/support) and for tools/kernel_resources.py.
set(RETRO_KERNEL_SOURCES
  adamw.cu
  chunked_cross_attention.cu
  embedding_backward.cu
  embedding_forward.cu
  linear_cross_entropy.cu
  relative_attention_backward_bfloat16.cu
  relative_attention_backward_float32.cu
  relative_attention_forward_bfloat16.cu
  relative_attention_forward_float32.cu
  rms_norm_backward.cu
  rms_norm_forward.cu
  rotary.cu)
