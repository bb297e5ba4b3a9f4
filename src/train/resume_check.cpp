#include "resume_check.h"

#include "retro/core/error.h"
#include "retro/core/flat_fields.h"
#include "retro/core/log.h"

namespace retro {

namespace {

constexpr const char* kAdvice =
    "resume with the earlier value, or train in another directory (or remove this one)";

std::string value_of(const FlatFields& fields, const std::string& key) {
  const auto found = fields.find(key);
  return found == fields.end() ? "not set" : found->second;
}

void refuse(const CheckpointInfo& checkpoint, const std::string& key, const FlatFields& before,
            const FlatFields& now) {
  RETRO_CHECK(false, "{} was made with {} = {}, now it is {}: {}", checkpoint.path.string(), key,
              value_of(before, key), value_of(now, key), kAdvice);
}

}  // namespace

void check_resumable(const CheckpointInfo& checkpoint, const CheckpointConfig& now,
                     const std::string& data_identity) {
  const CheckpointConfig config = read_checkpoint_config(checkpoint.path);
  const FlatFields before_fields = flat_fields(config);
  const FlatFields now_fields = flat_fields(now);
  for (const std::string& key : differing_keys(flat_fields(config.model), flat_fields(now.model))) {
    refuse(checkpoint, "model." + key, before_fields, now_fields);
  }
  for (const std::string& key : changed_keys(config.train, now.train)) {
    refuse(checkpoint, "train." + key, before_fields, now_fields);
  }
  RETRO_CHECK(checkpoint.state.data_identity == data_identity,
              "{} was trained on other text or another neighbour table ({}, now {}): train in "
              "another directory, or remove this one",
              checkpoint.path.string(), checkpoint.state.data_identity, data_identity);
  if (config.train.precision != now.train.precision) {
    log_warning("{} was made in {}, training goes on in {}", checkpoint.path.string(),
                config.train.precision, now.train.precision);
  }
}

}  // namespace retro
