// metrics.jsonl as charts.
#pragma once

#include <filesystem>
#include <string>

namespace retro {

/// Loss and validation curves of both trainings; a missing file leaves its lines out.
std::string training_html(const std::filesystem::path& retro_metrics,
                          const std::filesystem::path& baseline_metrics);

}  // namespace retro
