#include "retro/core/memory.h"

#include <fstream>
#include <limits>

#include <malloc.h>
#include <unistd.h>

namespace retro {

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * ::sysconf(_SC_PAGESIZE);
}

void return_freed_memory() { ::malloc_trim(0); }

void keep_freed_memory() {
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

}  // namespace retro
