#include "retro/run/build_facts.h"

#include <faiss/Index.h>
#include <fmt/core.h>
#include <torch/version.h>

#include "retro/core/parallel.h"
#include "retro/ops/device.h"
#include "retro/ops/precision.h"

namespace retro {

std::string build_facts() {
  return fmt::format(
      "retro {}\ncompiler: g++ {}\nLibTorch: {}\nFAISS: {}.{}.{}\nthreads: {}\nmatrix products "
      "(auto): {}\ndevices: {}",
      RETRO_VERSION, __VERSION__, TORCH_VERSION, FAISS_VERSION_MAJOR, FAISS_VERSION_MINOR,
      FAISS_VERSION_PATCH, default_thread_count(), precision_name(resolve_precision("auto")),
      built_devices());
}

}  // namespace retro
