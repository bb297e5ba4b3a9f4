#include "retro/run/ablations.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "retro/core/config_yaml.h"
#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/log.h"
#include "retro/run/child_process.h"
#include "retro/run/run_config.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

/// What the text stages make; the same for every row that leaves the text alone.
constexpr std::array kSharedOutputs = {"tokenizer.model", "corpus", "database", "index",
                                       "neighbours"};
constexpr std::array kSharedStages = {
    "tokenizer", "corpus", "database", "index", "neighbours.training", "neighbours.evaluation"};

const AblationRow& find_row(const AblationList& list, const std::string& name) {
  for (const AblationRow& row : list.rows) {
    if (row.name == name) return row;
  }
  throw Error(fmt::format("ablations: no row is named \"{}\"", name));
}

fs::path run_directory(const AblationList& list, const AblationRow& row, int64_t seed) {
  const std::string& name = row.run.empty() ? row.name : row.run;
  return fs::path(list.directory) / folder_name(name) / fmt::format("seed_{}", seed);
}

int run_child(const std::vector<std::string>& arguments) {
  ChildProcess child(own_executable(), arguments, "");
  return run_to_end(child);
}

/// Each row would be cut to a share of its own.
void refuse_budget(const AblationList& list, const std::vector<std::string>& overrides) {
  RETRO_CHECK(load_run_config(list.base, overrides).time_budget_minutes == 0,
              "{}: time_budget_minutes would give every row another share of the text and of the "
              "steps: set it to 0",
              list.base);
}

/// The base configuration's text stages, in DIRECTORY/shared.
int make_shared(const AblationList& list, const std::vector<std::string>& overrides) {
  const std::vector<std::vector<std::string>> commands{
      {"corpus"}, {"database", "build"}, {"neighbours"}};
  for (const std::vector<std::string>& command : commands) {
    std::vector<std::string> arguments = command;
    arguments.push_back(list.base);
    arguments.push_back(
        fmt::format("directory={}", (fs::path(list.directory) / "shared").string()));
    arguments.insert(arguments.end(), overrides.begin(), overrides.end());
    const int status = run_child(arguments);
    if (status != 0) return status;
  }
  return 0;
}

/// Files are replaced whole, never written in place: links are as good as copies. What a row makes
/// differently is removed and made again by its stages.
void link_shared(const fs::path& shared, const fs::path& run) {
  if (fs::exists(run)) return;
  fs::path unfinished = run;
  unfinished += ".tmp";
  fs::remove_all(unfinished);
  fs::create_directories(unfinished / "stages");
  constexpr auto kLink = fs::copy_options::recursive | fs::copy_options::create_hard_links;
  for (const char* output : kSharedOutputs) fs::copy(shared / output, unfinished / output, kLink);
  for (const char* stage : kSharedStages) {
    const std::string record = fmt::format("{}.json", stage);
    fs::copy_file(shared / "stages" / record, unfinished / "stages" / record);
  }
  fs::rename(unfinished, run);
}

int run_row(const AblationList& list, const AblationRow& row, int64_t seed,
            const std::vector<std::string>& overrides) {
  const fs::path directory = run_directory(list, row, seed);
  log_info("== {}, seed {} ({})", row.name, seed, directory.string());
  link_shared(fs::path(list.directory) / "shared", directory);
  std::vector<std::string> arguments{"run", list.base};
  arguments.insert(arguments.end(), row.overrides.begin(), row.overrides.end());
  arguments.insert(arguments.end(), overrides.begin(), overrides.end());
  arguments.push_back(fmt::format("train.seed={}", seed));
  arguments.push_back(fmt::format("directory={}", directory.string()));
  return run_child(arguments);
}

}  // namespace

void AblationRow::visit_fields(FieldVisitor& visit) {
  visit("name", name, "how the table calls the row");
  visit("overrides", overrides, "key=value, changes of the base configuration");
  visit("run", run, "name of the row whose runs are read; empty: its own");
  visit("column", column, "on, off, baseline, or a column of the evaluation (on.k5.s0)");
  visit("paper", paper, "the paper's figure; 0: none");
}

void AblationList::visit_fields(FieldVisitor& visit) {
  visit("title", title, "what the table is about");
  visit("base", base, "configuration that every row changes");
  visit("directory", directory, "folder of the runs");
  visit("seeds", seeds, "train.seed of each run of a row");
  visit("source", source, "source of the evaluation whose bits per byte count");
  visit("paper_unit", paper_unit, "what the paper's column measures");
  visit("rows", rows, "rows of the table; differences are to the first");
}

AblationList load_ablations(const fs::path& path) {
  RETRO_CHECK(fs::exists(path), "{}: no such list of ablations", path.string());
  AblationList list;
  ConfigSource::from_file(path).parse(list);
  const std::string where = path.string();
  RETRO_CHECK(!list.base.empty() && fs::exists(list.base),
              "{}: base `{}` is no configuration (the path counts from the current directory)",
              where, list.base);
  RETRO_CHECK(!list.directory.empty(), "{}: directory is missing", where);
  RETRO_CHECK(!list.rows.empty() && !list.seeds.empty(), "{}: rows or seeds are missing", where);
  std::vector<std::string> names;
  for (const AblationRow& row : list.rows) {
    RETRO_CHECK(!row.name.empty(), "{}: a row has no name", where);
    RETRO_CHECK(std::find(names.begin(), names.end(), folder_name(row.name)) == names.end(),
                "{}: two rows are named \"{}\"", where, row.name);
    names.push_back(folder_name(row.name));
    RETRO_CHECK(row.run.empty() || row.overrides.empty(),
                "{}: row \"{}\" reads the runs of \"{}\" and cannot have overrides", where,
                row.name, row.run);
    if (!row.run.empty()) (void)find_row(list, row.run);
  }
  return list;
}

std::string folder_name(const std::string& row) {
  std::string folder;
  for (const char letter : row) {
    const bool is_kept = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    if (is_kept)
      folder += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    else if (!folder.empty() && folder.back() != '_')
      folder += '_';
  }
  while (!folder.empty() && folder.back() == '_') folder.pop_back();
  return folder;
}

int execute_ablations(const AblationList& list, const std::vector<std::string>& overrides,
                      const std::string& only) {
  if (!only.empty()) (void)find_row(list, only);
  refuse_budget(list, overrides);
  const int status = make_shared(list, overrides);
  if (status != 0) return status;
  for (const int64_t seed : list.seeds) {
    for (const AblationRow& row : list.rows) {
      const bool is_asked = only.empty() || row.name == only;
      if (!is_asked || !row.run.empty()) continue;
      const int run_status = run_row(list, row, seed, overrides);
      if (run_status != 0) return run_status;
    }
  }
  const auto figures = ablation_figures(list);
  write_file(fs::path(list.directory) / "table.json", ablations_json(list, figures));
  return 0;
}

}  // namespace retro
