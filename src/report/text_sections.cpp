// The sections whose content the page's script draws from embedded JSON, and the configuration.
#include "retro/core/json.h"
#include "retro/report/html_text.h"

#include "page_files.h"
#include "reader_data.h"
#include "sections.h"

namespace retro {
namespace {

std::string embedded(const std::string& name, const Json& data) {
  return "<script type=\"application/json\" class=" + name + ">" +
         escape_script_json(json_line(data)) + "</script>";
}

}  // namespace

std::string reader_html(const Json& examples, const std::string& about) {
  if (list_at(examples, "examples").empty()) return {};
  return "<p>" + about + "</p>" + std::string(kPageReader) +
         embedded("reader-data", reader_data(examples));
}

std::string sample_html(const RunFiles& run) {
  if (run.sample.is_null()) return {};
  return "<p>The prompt, then what the model wrote. Open a chunk to see the passages it could "
         "read: "
         "marked words stand in a run of three tokens or more that the chunk shares with "
         "them.</p><div class=sample></div>" +
         embedded("sample-data", run.sample);
}

std::string config_html(const RunFiles& run) {
  if (run.config.empty()) return {};
  return "<details><summary>The effective configuration of this run</summary><pre tabindex=0>" +
         escape_html(run.config) + "</pre></details>";
}

}  // namespace retro
