#include "output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "retro/core/error.h"

namespace retro::tools {

void finish_output() {
  const bool has_failed_before = std::ferror(stdout) != 0;
  // Why it failed is known no more: one character asks again.
  if (has_failed_before) std::fputc('\n', stdout);
  errno = 0;
  const bool is_flushed = std::fflush(stdout) == 0;
  RETRO_CHECK(is_flushed && !has_failed_before, "cannot write to standard output{}",
              errno == 0 ? "" : fmt::format(": {}", std::strerror(errno)));
}

}  // namespace retro::tools
