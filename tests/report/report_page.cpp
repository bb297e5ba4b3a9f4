// report_page RUN... OUTPUT: the page without the rest of the program, for the test in a browser.
#include <cstdio>
#include <exception>

#include "retro/report/html_report.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: report_page RUN... OUTPUT\n");
    return 2;
  }
  try {
    retro::write_html_report({argv + 1, argv + argc - 1}, argv[argc - 1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
