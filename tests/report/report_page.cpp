// The pages without the rest of the program, for the test in a browser.
//   report_page RUN... OUTPUT
//   report_page --text EXAMPLES.json OUTPUT      the page of a scored text
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "retro/core/json.h"
#include "retro/report/html_report.h"
#include "retro/report/text_page.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: report_page RUN... OUTPUT | --text EXAMPLES.json OUTPUT\n");
    return 2;
  }
  try {
    if (argc == 4 && std::string(argv[1]) == "--text") {
      retro::TextPage text{
          "a text of one's own", "a run", retro::read_json_file(argv[2]), 640, 1.75, 1.5};
      retro::write_text_page(text, argv[3]);
    } else {
      std::vector<retro::ReportedRun> runs;
      for (int i = 1; i + 1 < argc; ++i) runs.push_back({argv[i]});
      retro::write_html_report(runs, argv[argc - 1]);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
