#include "retro/core/log.h"
#include "retro/report/html_report.h"
#include "retro/run/stages.h"

namespace retro {

int execute_report_stage(const RunConfig& config) {
  const RunPaths paths(config);
  // Every stage whose results it reads has just been found up to date.
  write_html_report({{paths.directory()}}, paths.report());
  log_info("{}", paths.report().string());
  return 0;
}

}  // namespace retro
