// A run directory of a test, removed with it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/file_system.h"
#include "retro/report/html_report.h"

namespace retro {

class RunDirectory : public ::testing::Test {
 protected:
  RunDirectory()
      : directory_(std::filesystem::temp_directory_path() /
                   (std::string("retro_report_") +
                    ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  ~RunDirectory() override { std::filesystem::remove_all(directory_); }

  /// Writes a file of the run `run`.
  void add(const std::string& name, const std::string& text, const std::string& run = "a run") {
    const std::filesystem::path path = directory_ / run / name;
    std::filesystem::create_directories(path.parent_path());
    write_file(path, text);
  }

  std::string page(const std::vector<std::string>& names = {"a run"}) {
    std::vector<ReportedRun> runs;
    for (const std::string& name : names) {
      std::filesystem::create_directories(directory_ / name);
      runs.push_back({directory_ / name, stale_});
    }
    write_html_report(runs, directory_ / "report.html");
    return read_file(directory_ / "report.html");
  }

  std::filesystem::path directory_;
  std::vector<std::string> stale_;  ///< stages of every run whose results are not its own
};

}  // namespace retro
