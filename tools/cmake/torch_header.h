// What is precompiled for every file that uses LibTorch. Not torch/torch.h: each file would
// instantiate and compile its pending templates anew (measured on a small file: 4.9 s with this
// header, 9.6 s with torch/torch.h, 12.8 s with neither).
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
