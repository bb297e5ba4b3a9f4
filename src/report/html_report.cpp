#include "retro/report/html_report.h"

#include <fmt/core.h>

#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/report/html_text.h"

#include "html_page.h"
#include "sections.h"

namespace retro {
namespace {

/// Names that repeat get their number, so that each run can be told from the others.
void make_names_unique(std::vector<RunFiles>& runs) {
  for (size_t i = 0; i < runs.size(); ++i) {
    int repeats = 1;
    for (size_t j = i + 1; j < runs.size(); ++j) {
      if (runs[j].name == runs[i].name) runs[j].name += fmt::format(" ({})", ++repeats);
    }
  }
}

constexpr const char* kReaderAbout =
    "Held-out documents as the model read them. Each chunk of a document may be written with the "
    "passages found for the chunk before it: choose a chunk to see them beside the text.";

std::vector<Section> sections_of(const RunFiles& run) {
  return {{"summary", "What reading brought", summary_html(run)},
          {"evidence", "Read or copied?", evidence_html(run)},
          {"figures", "All figures", figures_html(run)},
          {"breakdown", "Where it helps", breakdown_html(run)},
          {"knn", "kNN-LM", knn_html(run)},
          {"questions", "Questions", questions_html(run)},
          {"ablations", "Ablations", ablations_html(run)},
          {"tables", "Further results", result_tables_html(run)},
          {"reader", "Document reader", reader_html(run.examples, kReaderAbout)},
          {"sample", "A sampled text", sample_html(run)},
          {"training", "Training", training_html(run)},
          {"config", "Configuration", config_html(run)}};
}

std::string navigation_html(const std::vector<Section>& sections, const std::string& prefix) {
  std::string html = "<nav class=contents aria-label=Sections><ul>";
  for (const Section& section : sections) {
    if (section.html.empty()) continue;
    html += fmt::format("<li><a href=\"#{}{}\">{}</a></li>", prefix, section.id, section.title);
  }
  return html + "</ul></nav>";
}

std::string run_html(const RunFiles& run, size_t place, bool is_only) {
  const std::string prefix = is_only ? "" : fmt::format("run{}-", place);
  const std::vector<Section> sections = sections_of(run);
  std::string html = fmt::format("<div class=run data-run={}>", place);
  if (!is_only) html += "<h2 class=run-name>Run <em>" + escape_html(run.name) + "</em></h2>";
  html += navigation_html(sections, prefix);
  for (const Section& section : sections) html += section_html(section, prefix);
  return html + "</div>";
}

}  // namespace

void write_html_report(const std::vector<ReportedRun>& reported,
                       const std::filesystem::path& path) {
  RETRO_CHECK(!reported.empty(), "a report needs at least one run directory");
  std::vector<RunFiles> runs;
  runs.reserve(reported.size());
  for (const ReportedRun& run : reported) runs.push_back(read_run_files(run));
  make_names_unique(runs);
  const bool is_only = runs.size() == 1;
  std::string page = page_begin(is_only ? escape_html(runs.front().name)
                                        : fmt::format("{} runs side by side", runs.size()));
  page += section_html({"runs", "Runs", runs_html(runs)}, "");
  for (size_t i = 0; i < runs.size(); ++i) page += run_html(runs[i], i, is_only);
  write_file(path, page + page_end());
}

}  // namespace retro
