// One self-contained HTML page of a run: opens without a network, reads on a phone, in light and
// dark.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace retro {

/// What the page is made from; an absent file leaves its section out and the page says so.
struct ReportInputs {
  std::string title;
  std::filesystem::path result;            ///< eval/result.json
  std::filesystem::path examples;          ///< eval/examples.json
  std::filesystem::path sample;            ///< sample.json
  std::filesystem::path config;            ///< config.yaml
  std::filesystem::path retro_metrics;     ///< training/retro/metrics.jsonl
  std::filesystem::path baseline_metrics;  ///< training/baseline/metrics.jsonl
};

/// Writes the page atomically.
void write_html_report(const ReportInputs& inputs, const std::filesystem::path& path);

}  // namespace retro
