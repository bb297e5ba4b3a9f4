#include "retro/train/train_state.h"

#include "retro/core/json.h"

namespace retro {

std::string train_state_json(const TrainState& state) {
  nlohmann::json out = {{"format", "retro trainer state"},
                        {"version", 1},
                        {"step", state.step},
                        {"micro_step", state.micro_step},
                        {"tokens", state.tokens},
                        {"seed", state.seed},
                        {"seconds", state.seconds},
                        {"data_identity", state.data_identity},
                        {"validation_bits_per_byte", nullptr}};
  if (state.validation) out["validation_bits_per_byte"] = *state.validation;
  return out.dump(2) + "\n";
}

TrainState read_train_state(const std::filesystem::path& path) {
  const nlohmann::json json = read_json_file(path);
  const std::string where = path.string();
  const auto version = json_get<int64_t>(json, "version", where);
  RETRO_CHECK(version == 1, "{}: trainer state of version {}, this program reads version 1", where,
              version);
  TrainState state;
  state.step = json_get<int64_t>(json, "step", where);
  state.micro_step = json_get<int64_t>(json, "micro_step", where);
  state.tokens = json_get<int64_t>(json, "tokens", where);
  state.seed = json_get<int64_t>(json, "seed", where);
  state.seconds = json_get<double>(json, "seconds", where);
  state.data_identity = json_get<std::string>(json, "data_identity", where);
  if (!json_at(json, "validation_bits_per_byte", where).is_null()) {
    state.validation = json_get<double>(json, "validation_bits_per_byte", where);
  }
  return state;
}

}  // namespace retro
