#include "retro/report/html_report.h"

#include "retro/core/file_system.h"
#include "retro/core/json.h"
#include "retro/report/html_text.h"

#include "page_files.h"
#include "result_tables.h"
#include "training_curves.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

std::string sample_html(const fs::path& path) {
  if (!fs::exists(path)) return "<h2>A sampled paragraph</h2><p>Nothing was sampled.</p>";
  return "<h2>A sampled paragraph</h2><p>Prompt in grey, then what the model wrote, chunk by "
         "chunk. Coloured words stand "
         "in a run of three tokens or more that the chunk shares with the neighbours it could "
         "read.</p>"
         "<div id=sample></div><script type=\"application/json\" id=sample-data>" +
         escape_script_json(read_file(path)) + "</script>";
}

std::string browser_html(const fs::path& path) {
  if (!fs::exists(path)) return {};
  return "<h2>Neighbour browser</h2><p>Held-out chunks and the neighbours they could read. Green "
         "tokens became cheaper "
         "with retrieval, red ones dearer (nats, off minus on); underlined tokens stand in a "
         "common run.</p>"
         "<p><label>Show <select id=example-source></select></label> "
         "<button id=example-previous type=button>previous</button> <button id=example-next "
         "type=button>next</button> "
         "<span id=example-place role=status></span></p><div id=example></div>"
         "<script type=\"application/json\" id=example-data>" +
         escape_script_json(read_file(path)) + "</script>";
}

std::string results_html(const fs::path& path) {
  if (!fs::exists(path)) return "<p>Nothing was evaluated yet.</p>";
  const nlohmann::json result = read_json_file(path);
  return overview_html(result) + curves_html(result) + notes_html(result);
}

std::string config_html(const fs::path& path) {
  if (!fs::exists(path)) return {};
  return "<h2>Configuration</h2><details><summary>the effective config of this run</summary><pre>" +
         escape_html(read_file(path)) + "</pre></details>";
}

}  // namespace

void write_html_report(const ReportInputs& inputs, const fs::path& path) {
  const std::string title = escape_html(inputs.title);
  std::string page =
      "<!doctype html><html lang=en><head><meta charset=utf-8>"
      "<meta name=viewport content=\"width=device-width, initial-scale=1\"><link rel=icon "
      "href=\"data:,\"><title>" +
      title + "</title><style>" + std::string(kPageStyle) + "</style></head><body><main><h1>" +
      title + "</h1>";
  page += results_html(inputs.result);
  page += browser_html(inputs.examples);
  page += sample_html(inputs.sample);
  page += training_html(inputs.retro_metrics, inputs.baseline_metrics);
  page += config_html(inputs.config);
  page += "</main><script>" + std::string(kPageScript) + "</script></body></html>\n";
  write_file(path, page);
}

}  // namespace retro
