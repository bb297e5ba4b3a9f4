// The stages of a run: what each is made from, and whether it is up to date.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace retro {

/// One step of a run. Its key is the hash of its name, format version, config text, input files and
/// the keys of the stages it reads; a stage whose recorded key is equal and whose outputs exist is
/// skipped.
struct Stage {
  std::string name;   ///< "train.retro"
  std::string title;  ///< "train RETRO": what a person reads
  int64_t format_version = 1;
  std::string config;                              ///< its part of the config, serialised
  std::vector<std::string> after;                  ///< names of the stages it reads
  std::vector<std::filesystem::path> input_files;  ///< read from outside the run
  std::vector<std::filesystem::path>
      outputs;  ///< files or directories, removed when the key changes
  int num_threads = 1;
  /// Its builder looks at what is there, keeps what is right, and puts the rest in its place in one
  /// step: a stale output stays until then.
  bool replaces_itself = false;
  /// What it made before took long (a trained model): stale outputs wait as OUTPUT.old until the
  /// new ones are finished, and come back where those fail before anything is made, or where the
  /// configuration goes back before they are finished.
  bool keeps_earlier = false;
};

/// Progress of a stage as recorded in RUN/stages/NAME.json.
enum class StageState {
  kStale,     ///< never started, or made from something else
  kStarted,   ///< begun with this key and not finished: it resumes
  kFinished,  ///< up to date
};

/// Keys and records of a run directory. Stages are given in an order where each comes after those
/// it reads.
class StageGraph {
 public:
  /// Hashes the input files (remembered by size and time in RUN/stages/inputs.json). Throws Error
  /// for a missing one.
  StageGraph(std::filesystem::path directory, std::vector<Stage> stages);

  const std::vector<Stage>& stages() const { return stages_; }
  bool contains(const std::string& name) const;
  const Stage& stage(const std::string& name) const;
  const std::string& key(const std::string& name) const;
  StageState state(const std::string& name) const;
  /// What is missing of a stage whose work has ended, for a message.
  std::string why_unfinished(const std::string& name) const;
  /// The stages `name` reads that are not up to date, directly or through others.
  std::vector<std::string> missing_inputs(const std::string& name) const;

  // What follows is for the one process that holds the run's lock.

  /// Ends what a kill cut off between the outputs of a stage and their record.
  void recover() const;
  /// Puts back the outputs that wait beside those of another, unfinished key. `state` counts them
  /// as finished before; call this first of all that changes the run.
  void restore() const;
  /// Removes stale outputs, or sets them aside (unless resuming, or replaced by their builder), and
  /// records the start.
  void begin(const std::string& name) const;
  void finish(const std::string& name, double seconds) const;
  /// After an error or an interrupt: puts back what was set aside, unless the stage has made
  /// something that another start goes on from.
  void fail(const std::string& name) const;
  /// Seconds the finished stage took; 0 if not finished.
  double seconds(const std::string& name) const;

 private:
  size_t index(const std::string& name) const;
  std::filesystem::path record_path(const std::string& name) const;
  void settle(const Stage& stage) const;
  void put_earlier_back(const Stage& stage) const;
  std::filesystem::path directory_;
  std::vector<Stage> stages_;
  std::vector<std::string> keys_;
};

}  // namespace retro
