// A database's life on real keys: opening, adding, deleting, compacting, and what a query costs at
// each point beside a fresh build of the same documents. One JSON line a point.
//   database_benchmark DATABASE INDEX WORK_DIRECTORY [CHANGES=100000] [BATCH=1000]
// CHANGES one-chunk documents are added with keys of the database (in another order) and deleted
// again, BATCH at a time; a copy in WORK_DIRECTORY is changed, the database itself is not.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <sys/resource.h>

#include "retro/core/error.h"
#include "retro/core/json.h"
#include "retro/core/log.h"
#include "retro/core/random.h"
#include "retro/retrieval/database_writer.h"
#include "retro/retrieval/live_database.h"

namespace {

namespace fs = std::filesystem;
constexpr int64_t kNeighbours = 10;
constexpr int64_t kQueries = 500;

template <class Body>
double seconds_of(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Gives the keys of the database back in a seeded order: real keys without an encoder.
class ReplayEmbedder final : public retro::ChunkEmbedder {
 public:
  explicit ReplayEmbedder(const retro::RetrievalDatabase& database) : database_(database) {}
  int64_t key_width() const override { return database_.key_width(); }
  void embed(std::span<const std::string> texts, std::span<float> keys_TQ,
             std::span<uint8_t> has_key) override {
    const auto width = static_cast<size_t>(database_.key_width());
    for (size_t t = 0; t < texts.size(); ++t) {
      const auto row =
          static_cast<int64_t>(random_.below(static_cast<uint64_t>(database_.num_rows())));
      database_.copy_row_keys(row, row + 1, keys_TQ.subspan(t * width, width));
      has_key[t] = database_.row_has_key(row) ? 1 : 0;
    }
  }
  std::string identity() const override { return database_.embedder_identity(); }
  int64_t pieces_read() const override { return 0; }

 private:
  const retro::RetrievalDatabase& database_;
  retro::RandomStream random_{1, "database benchmark"};
};

/// One token a byte, under the database's own name.
class NamedTokenizer final : public retro::Tokenizer {
 public:
  explicit NamedTokenizer(std::string name) : name_(std::move(name)) {}
  retro::EncodedText encode(std::string_view text) const override {
    retro::EncodedText out;
    for (const char c : text) out.ids.push_back(static_cast<unsigned char>(c));
    out.bytes.assign(text.size(), 1);
    return out;
  }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string out;
    for (const int32_t id : ids) out += static_cast<char>(id);
    return out;
  }
  int64_t vocabulary_size() const override { return 257; }
  int32_t end_of_document() const override { return 256; }
  std::string piece(int32_t id) const override { return decode({&id, 1}); }
  std::string identity() const override { return name_; }

 private:
  std::string name_;
};

struct Setting {
  retro::DatabasePlace original;
  retro::DatabasePlace copy;
  int64_t num_changes = 100'000;
  int64_t batch = 1000;
};

std::vector<float> sample_queries(const retro::RetrievalDatabase& database) {
  retro::RandomStream random(2, "database benchmark");
  const auto width = static_cast<size_t>(database.key_width());
  std::vector<float> queries(static_cast<size_t>(kQueries) * width);
  for (size_t x = 0; x < static_cast<size_t>(kQueries); ++x) {
    const auto row = static_cast<int64_t>(random.below(static_cast<uint64_t>(database.num_rows())));
    database.copy_row_keys(row, row + 1, std::span(queries).subspan(x * width, width));
  }
  return queries;
}

void print_point(const Setting& setting, const std::string& point, double change_seconds,
                 const std::vector<float>& queries) {
  std::vector<int64_t> ids(static_cast<size_t>(kQueries * kNeighbours));
  std::vector<float> distances(ids.size());
  std::shared_ptr<const retro::DatabaseSnapshot> snapshot;
  const double open_seconds =
      seconds_of([&] { snapshot = retro::LiveDatabase(setting.copy).newest(); });
  const auto search = [&] { snapshot->index->search(queries, kNeighbours, {}, ids, distances); };
  search();
  const double seconds = seconds_of(search);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("{}\n", retro::json_line({{"benchmark", "database"},
                                       {"point", point},
                                       {"index", snapshot->index->report().type},
                                       {"chunks", snapshot->database->num_live_chunks()},
                                       {"shards", snapshot->database->num_shards()},
                                       {"change_seconds", change_seconds},
                                       {"open_ms", 1e3 * open_seconds},
                                       {"ms_per_query", 1e3 * seconds / double{kQueries}},
                                       {"peak_resident_mb", usage.ru_maxrss / 1000}}));
}

void add_and_delete(const Setting& setting, retro::DatabaseWriter& writer,
                    const NamedTokenizer& tokenizer, ReplayEmbedder& embedder) {
  for (int64_t first = 0; first < setting.num_changes; first += setting.batch) {
    const auto documents = [&](const std::function<void(retro::RawDocument &&)>& sink) {
      for (int64_t i = first; i < first + setting.batch; ++i) {
        retro::RawDocument document;
        document.id = std::to_string(i);
        document.text = "document " + document.id;
        sink(std::move(document));
      }
    };
    writer.add({documents, "churn", false}, tokenizer, embedder);
    std::vector<int64_t> added;
    for (int64_t d = 0; d < writer.database().num_documents(); ++d) {
      const retro::DatabaseDocument& document = writer.database().document(d);
      if (document.source == "churn" && !document.is_deleted) added.push_back(d);
    }
    writer.remove(added);
  }
}

void run(const Setting& setting) {
  fs::remove_all(setting.copy.database);
  fs::remove_all(setting.copy.index);
  fs::create_directories(setting.copy.database.parent_path());
  fs::copy(setting.original.database, setting.copy.database, fs::copy_options::recursive);
  fs::copy(setting.original.index, setting.copy.index, fs::copy_options::recursive);
  const retro::RetrievalDatabase original(setting.original.database);
  const std::vector<float> queries = sample_queries(original);
  const NamedTokenizer tokenizer(original.tokenizer_identity());
  ReplayEmbedder embedder(original);
  print_point(setting, "fresh build", 0, queries);
  retro::DatabaseWriter writer(setting.copy);
  const double change_seconds =
      seconds_of([&] { add_and_delete(setting, writer, tokenizer, embedder); });
  print_point(setting, "after adds and deletes", change_seconds, queries);
  const double compact_seconds = seconds_of([&] { writer.compact({}); });
  print_point(setting, "after compaction", compact_seconds, queries);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    RETRO_CHECK(argc >= 4, "usage: database_benchmark DATABASE INDEX WORK [CHANGES] [BATCH]");
    const fs::path work = argv[3];
    Setting setting{{argv[1], argv[2]}, {work / "database", work / "index"}};
    if (argc > 4) setting.num_changes = std::stol(argv[4]);
    if (argc > 5) setting.batch = std::stol(argv[5]);
    retro::set_log_quiet(true);
    run(setting);
  } catch (const retro::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
