// One subcommand per stage: retro corpus, neighbours, train, fit, eval CONFIG; and `retro
// stage NAME CONFIG`, which `retro run` starts as a child process.
#include "retro/run/stages.h"
#include "retro/run/whole_run.h"

#include "command.h"

namespace retro::tools {
namespace {

void add_stages(CLI::App& app, const std::string& name, const std::string& help,
                std::vector<std::string> sections, std::vector<std::string> stages) {
  CLI::App* command = app.add_subcommand(name, help);
  const auto arguments = add_config_arguments(*command, std::move(sections));
  command->callback([arguments, stages = std::move(stages)] {
    const RunConfig config = load(*arguments);
    const int status = execute_stages(config, stages);
    if (status != 0) throw StatusExit{status};
  });
}

void add_neighbours(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("neighbours", "the nearest chunks of every training and evaluation chunk");
  const auto arguments = add_config_arguments(*command, {"neighbours"});
  const auto part = add_part_option(*command,
                                    "I/N: only blocks I, I+N, ... of each table (I from 0), for N "
                                    "processes at once on a finished "
                                    "database and index; then without --part");
  command->callback([arguments, part] {
    const RunConfig config = load(*arguments);
    if (!part->empty()) return build_run_neighbours_part(config, parse_part(*part));
    const int status = execute_stages(config, {"neighbours.training", "neighbours.evaluation"});
    if (status != 0) throw StatusExit{status};
  });
}

}  // namespace

void add_stage_commands(CLI::App& app) {
  add_stages(app, "corpus",
             "text to documents as token ids, split into train, validation, test and database",
             {"corpus", "tokenizer"}, {"tokenizer", "corpus"});
  add_neighbours(app);
  add_stages(app, "train", "train the baselines and RETRO", {"model", "train", "baseline"},
             {"train.baseline", "train.baseline_wide", "train.baseline_database", "train.retro"});
  add_stages(app, "fit", "RETRO-fit a trained decoder (fit.base): teach it to read neighbours",
             {"fit", "train"}, {"fit"});
  add_stages(app, "eval", "bits per byte, filtered curve, controls and shift test", {"eval"},
             {"passes.baseline", "passes.baseline_wide", "passes.baseline_database", "passes.retro",
              "eval"});
  add_stages(app, "knn", "kNN-LM over the database's text, alone and on top of RETRO (knn.enabled)",
             {"knn"}, {"knn"});
  add_stages(app, "qa",
             "open-book question answering: fine-tune on answers, exact match (qa.questions)",
             {"qa"}, {"qa"});

  CLI::App* command =
      app.add_subcommand("stage", "execute one stage in this process (used by `retro run`)");
  const auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "stage")->required();
  const auto arguments = add_config_arguments(*command);
  command->group("");
  command->callback([name, arguments] {
    const int status = execute_stage(load(*arguments), *name);
    if (status != 0) throw StatusExit{status};
  });
}

}  // namespace retro::tools
