// Open-book question answering: passages, fine-tuning on answers, exact match with retrieval on and
// off.
#include <algorithm>
#include <optional>
#include <set>

#include <ATen/Parallel.h>

#include "retro/core/error.h"
#include "retro/core/json.h"
#include "retro/core/log.h"
#include "retro/core/memory.h"
#include "retro/core/progress.h"
#include "retro/core/random.h"
#include "retro/core/utf8.h"
#include "retro/eval/answering.h"
#include "retro/retrieval/retriever.h"
#include "retro/run/model_setup.h"
#include "retro/run/run_embedder.h"
#include "retro/run/stages.h"
#include "retro/train/lr_schedule.h"
#include "retro/train/training_step.h"

namespace retro {
namespace {

/// Fills the passages of questions that have none from the run's database.
void retrieve_passages(const RunConfig& config, const Tokenizer& tokenizer,
                       std::vector<QaQuestion>& questions) {
  const RunPaths paths(config);
  const RetrievalDatabase database(paths.database());
  const NeighbourIndex index(database, paths.index());
  const auto embedder = run_embedder(config);
  Retriever retriever(database, index, *embedder);
  std::vector<std::string> texts;
  for (const QaQuestion& question : questions) texts.push_back(question.question);
  const auto found = retriever.retrieve(texts, config.qa.passages, run_threads(config));
  std::vector<int32_t> value(static_cast<size_t>(2 * database.chunk_length()));
  for (size_t q = 0; q < questions.size(); ++q) {
    if (!questions[q].passages.empty()) continue;
    for (const RetrievedNeighbour& neighbour : found[q]) {
      if (neighbour.chunk_id == kMissing) continue;
      database.copy_value(neighbour.chunk_id, value);
      std::vector<int32_t> tokens;
      std::copy_if(value.begin(), value.end(), std::back_inserter(tokens),
                   [](int32_t token) { return token >= 0; });
      const DatabaseDocument& document =
          database.document(database.document_of(neighbour.chunk_id));
      questions[q].passages.push_back(
          {document.title, replace_broken_utf8(tokenizer.decode(tokens)), document.id});
    }
  }
}

/// A fine-tuned model on the test questions.
struct QaSystem {
  std::string name;
  double exact_match = 0;
  double f1 = 0;
  std::vector<std::string> predictions;
};

class QaStage {
 public:
  explicit QaStage(const RunConfig& config)
      : config_(config),
        tokenizer_(load_tokenizer(RunPaths(config).tokenizer(), config.tokenizer.end_of_document)) {
    std::vector<QaQuestion> questions = read_questions(config.qa.questions);
    const bool has_all = std::none_of(questions.begin(), questions.end(),
                                      [](const QaQuestion& q) { return q.passages.empty(); });
    if (!has_all) retrieve_passages(config, *tokenizer_, questions);
    for (QaQuestion& question : questions)
      (question.split == "train" ? train_ : test_).push_back(std::move(question));
    RETRO_CHECK(!train_.empty() && !test_.empty(),
                "{}: {} questions to train on and {} to test: both splits are needed",
                config.qa.questions, train_.size(), test_.size());
    for (const QaQuestion& question : train_)
      layouts_.push_back(lay_out(question, question.answers.front(), config.qa.passages,
                                 config.model.chunk_length, *tokenizer_, cuts_));
    for (const QaQuestion& question : test_)
      prompts_.push_back(
          lay_out(question, "", config.qa.passages, config.model.chunk_length, *tokenizer_, cuts_));
  }

  void run() {
    log_info("{} questions to train on, {} to test; cut: {} questions, {} answers, {} passages",
             train_.size(), test_.size(), cuts_.questions, cuts_.answers, cuts_.passages);
    RetroModel open_book = fine_tuned("retro", true);
    add_system("RETRO, passages", open_book, true);
    add_system("the same, retrieval off", open_book, false);
    if (config_.baseline.enabled) {
      RetroModel closed_book = fine_tuned("baseline", false);
      add_system("baseline, closed book", closed_book, false);
    }
    write_json_file(RunPaths(config_).evaluation() / "qa.json", result());
    print();
  }

 private:
  /// Every weight is trained; the loss is the answers'.
  RetroModel fine_tuned(const std::string& training, bool with_passages) const {
    RetroModel model = load_trained_model(config_, training);
    model->train();
    AdamW optimizer(trained_parameters(model), {});
    const QaConfig& qa = config_.qa;
    const LearningRateSchedule schedule{qa.learning_rate, qa.warmup_steps, qa.steps};
    Progress progress(fmt::format("fine-tune {}", training), qa.steps, "steps");
    for (int64_t step = 0; step < qa.steps; ++step) {
      const auto next = [&] { return training_batch(step, with_passages); };
      const StepResult result =
          training_step(model, optimizer, next, 1, {schedule.at(step), /*clip=*/1.0});
      progress.update(step + 1, fmt::format("loss {:.3f}", result.loss));
    }
    return model;
  }

  /// Questions drawn for one step.
  Batch training_batch(int64_t step, bool with_passages) const {
    RandomStream random(static_cast<uint64_t>(config_.seed), "questions",
                        static_cast<uint64_t>(step));
    std::vector<QaLayout> drawn;
    for (int64_t b = 0; b < config_.qa.batch_size; ++b)
      drawn.push_back(layouts_[random.below(layouts_.size())]);
    return qa_batch(drawn, config_.model.chunk_length, with_passages);
  }

  void add_system(const std::string& name, RetroModel& model, bool with_passages) {
    QaSystem system;
    system.name = name;
    const auto batch_size = static_cast<size_t>(config_.qa.batch_size);
    for (size_t begin = 0; begin < prompts_.size(); begin += batch_size) {
      const auto part =
          std::span(prompts_).subspan(begin, std::min(batch_size, prompts_.size() - begin));
      for (const auto& tokens : greedy_answers(model, part, tokenizer_->end_of_document(),
                                               config_.qa.max_tokens, with_passages))
        system.predictions.push_back(replace_broken_utf8(tokenizer_->decode(tokens)));
    }
    const auto count = static_cast<double>(test_.size());
    for (size_t q = 0; q < test_.size(); ++q) {
      system.exact_match += is_exact_match(system.predictions[q], test_[q].answers) / count;
      system.f1 += token_f1(system.predictions[q], test_[q].answers) / count;
    }
    systems_.push_back(std::move(system));
  }

  /// 1, 5 and all passages.
  std::set<int64_t> recall_ranks() const {
    return {1, std::min<int64_t>(5, config_.qa.passages), config_.qa.passages};
  }

  /// Share of the test questions whose telling passage is among the first k; nothing if no question
  /// knows it.
  std::optional<double> recall_at(int64_t k) const {
    int64_t known = 0;
    int64_t found = 0;
    for (const QaQuestion& question : test_) {
      if (question.document.empty() && question.title.empty()) continue;
      ++known;
      const int64_t rank = rank_of_telling_passage(question);
      found += rank >= 0 && rank < k;
    }
    if (known == 0) return std::nullopt;
    return static_cast<double>(found) / static_cast<double>(known);
  }

  nlohmann::json result() const {
    auto recall = nlohmann::json::object();
    for (const int64_t k : recall_ranks()) {
      const auto share = recall_at(k);
      if (share) recall[std::to_string(k)] = *share;
    }
    auto systems = nlohmann::json::array();
    for (const QaSystem& system : systems_)
      systems.push_back(
          {{"name", system.name}, {"exact_match", system.exact_match}, {"f1", system.f1}});
    auto answers = nlohmann::json::array();
    for (size_t q = 0; q < test_.size(); ++q) {
      auto predictions = nlohmann::json::object();
      for (const QaSystem& system : systems_) predictions[system.name] = system.predictions[q];
      answers.push_back({{"id", test_[q].id},
                         {"question", test_[q].question},
                         {"answers", test_[q].answers},
                         {"rank_of_telling_passage", rank_of_telling_passage(test_[q])},
                         {"predictions", predictions}});
    }
    return {{"format", "retro qa"},
            {"version", 1},
            {"train_questions", train_.size()},
            {"test_questions", test_.size()},
            {"passages", config_.qa.passages},
            {"cut",
             {{"questions", cuts_.questions},
              {"answers", cuts_.answers},
              {"passages", cuts_.passages}}},
            {"recall_at", recall},
            {"systems", systems},
            {"answers", answers}};
  }

  void print() const {
    for (const int64_t k : recall_ranks()) {
      const auto share = recall_at(k);
      if (share) fmt::print("recall@{} of the telling passage: {:.3f}\n", k, *share);
    }
    fmt::print("{:<28}{:>12}{:>8}\n", "", "exact match", "F1");
    for (const QaSystem& system : systems_)
      fmt::print("{:<28}{:>12.3f}{:>8.3f}\n", system.name, system.exact_match, system.f1);
  }

  const RunConfig& config_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<QaQuestion> train_, test_;
  std::vector<QaLayout> layouts_, prompts_;
  QaCuts cuts_;
  std::vector<QaSystem> systems_;
};

}  // namespace

int execute_qa_stage(const RunConfig& config) {
  at::set_num_threads(run_threads(config));
  keep_freed_memory();
  check_qa_config(config.qa);
  std::filesystem::create_directories(RunPaths(config).evaluation());
  QaStage(config).run();
  return 0;
}

}  // namespace retro
