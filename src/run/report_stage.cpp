#include "retro/core/log.h"
#include "retro/report/html_report.h"
#include "retro/run/stages.h"

namespace retro {

int execute_report_stage(const RunConfig& config) {
  const RunPaths paths(config);
  ReportInputs inputs;
  inputs.title = "RETRO run: " + paths.directory().filename().string();
  inputs.result = paths.evaluation() / "result.json";
  inputs.examples = paths.evaluation() / "examples.json";
  inputs.sample = paths.sample();
  inputs.config = paths.config();
  inputs.retro_metrics = paths.training("retro") / "metrics.jsonl";
  inputs.baseline_metrics = paths.training("baseline") / "metrics.jsonl";
  write_html_report(inputs, paths.report());
  log_info("{}", paths.report().string());
  return 0;
}

}  // namespace retro
