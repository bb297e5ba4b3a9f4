// A small configuration with every kind of field.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "retro/core/config.h"

namespace retro::testing {

struct ScheduleConfig {
  double peak = 1e-3;
  int64_t warmup_steps = 750;
  void visit_fields(FieldVisitor& visit) {
    visit("peak", peak, "highest learning rate");
    visit("warmup_steps", warmup_steps, "optimizer steps of linear rise");
  }
  bool operator==(const ScheduleConfig&) const = default;
};

struct TrainConfig {
  int64_t steps = 100;
  bool resume = true;
  std::string precision = "auto";
  ScheduleConfig schedule;
  void visit_fields(FieldVisitor& visit) {
    visit("steps", steps, "optimizer steps");
    visit("resume", resume, "go on from the last checkpoint");
    visit.choice("precision", precision, {"float32", "bfloat16", "auto"},
                 "type of matrix products");
    visit("schedule", schedule, "learning rate");
  }
  bool operator==(const TrainConfig&) const = default;
};

struct SourceConfig {
  ScheduleConfig schedule;
  std::string path;
  int64_t max_documents = 0;
  void visit_fields(FieldVisitor& visit) {
    visit("schedule", schedule, "a block first in an element");
    visit("path", path, "file or folder");
    visit("max_documents", max_documents, "0: all");
  }
  bool operator==(const SourceConfig&) const = default;
};

struct RootConfig {
  std::string name = "run";
  std::vector<int64_t> cca_layers = {1, 3};
  std::vector<double> alphas = {0.125, 1};
  std::vector<std::string> controls = {"off", "random"};
  std::map<std::string, double> weights = {{"wiki", 1}};
  std::vector<SourceConfig> sources;
  TrainConfig train;
  void visit_fields(FieldVisitor& visit) {
    visit("name", name, "title of the report");
    visit("cca_layers", cca_layers, "layers with cross-attention");
    visit("alphas", alphas, "overlaps");
    visit("controls", controls, "what to evaluate beside");
    visit("weights", weights, "share of each source");
    visit("sources", sources, "where text comes from");
    visit("train", train, "how the model is trained");
  }
  bool operator==(const RootConfig&) const = default;
};

}  // namespace retro::testing
