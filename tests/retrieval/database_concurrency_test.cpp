// Eight threads search while one adds, deletes and compacts: every answer is that of one state in
// the order in which the writer made them.
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "retro/retrieval/retriever.h"

#include "life_test_support.h"

namespace retro {
namespace {

using testing::ClusterEmbedder;
using testing::LivingDatabase;
using testing::raw_document;

constexpr int64_t kNeighbours = 4;
const std::vector<std::string> kQueries{"alpha", "beta", "gamma"};

/// The names of all documents, and the answers to the queries.
struct State {
  std::set<std::string> names;
  std::vector<std::vector<int64_t>> answers;
  bool operator==(const State&) const = default;
};

State state_by_hand(LivingDatabase& living) {
  State state;
  for (const auto& document : living.expected()) {
    state.names.insert(document.source + "/" + document.id);
  }
  for (const std::string& query : kQueries) {
    state.answers.push_back(living.nearest_by_hand(living.key_of(query), kNeighbours));
  }
  return state;
}

State state_as_read(const DatabaseSnapshot& snapshot) {
  State state;
  for (int64_t d = 0; d < snapshot.database->num_documents(); ++d) {
    const DatabaseDocument& document = snapshot.database->document(d);
    if (!document.is_deleted) state.names.insert(document.source + "/" + document.id);
  }
  ClusterEmbedder embedder(LivingDatabase::kWidth);
  std::vector<float> keys(kQueries.size() * LivingDatabase::kWidth);
  std::vector<uint8_t> has_key(kQueries.size());
  embedder.embed(kQueries, keys, has_key);
  // Every list is looked at, so that the answers are known.
  const auto found = testing::search(*snapshot.index, keys, kNeighbours, {.num_probes = 1000});
  for (size_t query = 0; query < kQueries.size(); ++query) {
    const auto first = found.ids.begin() + static_cast<int64_t>(query) * kNeighbours;
    state.answers.emplace_back(first, first + kNeighbours);
  }
  return state;
}

class DatabaseConcurrencyOf : public ::testing::TestWithParam<const char*> {};

TEST_P(DatabaseConcurrencyOf, EveryAnswerIsThatOfSomeSerialOrder) {
  LivingDatabase living(testing::random_documents(60, 3), GetParam());
  LiveDatabase live(living.place());
  std::vector<State> history{state_by_hand(living)};
  std::mutex mutex;
  std::vector<State> seen;
  std::atomic<int> num_reads = 0;
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < 8; ++reader) {
    readers.emplace_back([&](const std::stop_token& stop) {
      int64_t generation = 0;
      while (!stop.stop_requested()) {
        const auto snapshot = live.newest();
        EXPECT_GE(snapshot->database->generation(), generation) << "time does not run backwards";
        generation = snapshot->database->generation();
        const State state = state_as_read(*snapshot);
        ++num_reads;
        const std::lock_guard lock(mutex);
        if (std::ranges::find(seen, state) == seen.end()) seen.push_back(state);
      }
    });
  }
  for (int step = 0; step < 24; ++step) {
    const std::string id = std::to_string(step);
    if (step % 8 == 7) {
      living.compact();
    } else if (step % 3 == 2) {
      living.remove("s", std::to_string(step / 3));
    } else {
      living.add({raw_document(id, testing::random_text(20, static_cast<uint64_t>(step)))});
    }
    history.push_back(state_by_hand(living));
  }
  EXPECT_EQ(state_as_read(*live.newest()), history.back()) << "seen at once";
  readers.clear();  // asks them to stop, and joins
  for (const State& state : seen) {
    EXPECT_NE(std::ranges::find(history, state), history.end()) << "no state of the history";
  }
  EXPECT_GT(num_reads, 8);
}

INSTANTIATE_TEST_SUITE_P(Types, DatabaseConcurrencyOf, ::testing::Values("exact", "ivf_flat"),
                         [](const auto& type) { return std::string(type.param); });

/// One search as a thread asks it.
struct Asked {
  int64_t k;
  SearchParameters parameters;
};

TEST(DatabaseConcurrency, OneIndexAnswersManyThreadsAsItAnswersOne) {
  for (const char* type : {"exact", "ivf_flat", "ivf_pq"}) {
    testing::IndexedDatabase indexed(testing::random_documents(1200, 4), 16);
    const NeighbourIndex index = indexed.index(testing::index_config(type, 8));
    const std::vector<float> queries = indexed.new_queries(40);
    const std::vector<Asked> all_asked{{3, {.num_probes = 1, .num_threads = 1}},
                                       {10, {.num_probes = 4, .num_threads = 3}},
                                       {1, {.num_probes = 0, .num_threads = 2}},
                                       {25, {.num_probes = 8, .num_threads = 1}}};
    std::vector<testing::Neighbours> expected;
    for (const Asked& asked : all_asked) {
      expected.push_back(testing::search(index, queries, asked.k, asked.parameters));
    }
    std::vector<std::jthread> threads;
    for (size_t thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        for (size_t round = 0; round < 8; ++round) {
          const size_t i = (thread + round) % all_asked.size();
          EXPECT_EQ(testing::search(index, queries, all_asked[i].k, all_asked[i].parameters),
                    expected[i])
              << type;
        }
      });
    }
  }
}

// Each thread opens the database for itself, as separate programs do.
TEST(DatabaseConcurrency, ReadersOpenWhileAWriterReplacesFiles) {
  LivingDatabase living(testing::random_documents(60, 3), "ivf_flat");
  std::atomic<int64_t> num_opened = 0;
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < 8; ++reader) {
    readers.emplace_back([&](const std::stop_token& stop) {
      int64_t generation = 0;
      while (!stop.stop_requested()) {
        LiveDatabase live(living.place());
        const auto snapshot = live.newest();
        std::vector<int32_t> value(2 * LivingDatabase::kChunkLength);
        EXPECT_NO_THROW(snapshot->database->copy_value(0, value));
        EXPECT_GE(snapshot->database->generation(), generation);
        generation = snapshot->database->generation();
        ++num_opened;
      }
    });
  }
  for (int step = 0; step < 20; ++step) {
    living.add({raw_document(std::to_string(step), testing::random_text(20, 3))});
    if (step % 2 == 1) living.remove("new", std::to_string(step - 1));
    if (step % 5 == 4) living.compact();
  }
  readers.clear();
  EXPECT_GT(num_opened, 8);
  living.expect_as_expected("afterwards");
}

// The compaction of one added shard gives the same content, and so the same version, in a shard of
// another name.
TEST(DatabaseConcurrency, ReadersOpenWhileAdditionsAreCompacted) {
  LivingDatabase living(testing::random_documents(60, 3));
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        EXPECT_NO_THROW(RetrievalDatabase(living.place().database));
      }
    });
  }
  for (int step = 0; step < 20; ++step) {
    living.add({raw_document(std::to_string(step), testing::random_text(20, 3))});
    living.compact();
  }
  readers.clear();
  living.expect_as_expected("afterwards");
}

TEST(DatabaseConcurrency, FiltersChooseAtQueryTime) {
  LivingDatabase living(testing::random_documents(30, 3));
  RawDocument old = raw_document("old", "words of long ago", R"({"year":1850,"lang":"en"})");
  RawDocument young = raw_document("young", "words of today", R"({"year":2020,"lang":"de"})");
  young.group = "essays";
  living.add({old, young});
  const RetrievalDatabase database(living.place().database);
  const auto ids_of = [&](const DocumentSelection& selection) {
    std::set<std::string> ids;
    for (const int64_t d : select_documents(database, selection, &living.tokenizer())) {
      ids.insert(database.document(d).id);
    }
    return ids;
  };
  using Ids = std::set<std::string>;
  EXPECT_EQ(ids_of({.where = {"year<1990"}}), Ids{"old"});
  EXPECT_EQ(ids_of({.where = {"year >= 1850"}}), (Ids{"old", "young"}));
  EXPECT_EQ(ids_of({.where = {"year>=1850", "lang!=en"}}), Ids{"young"});
  EXPECT_EQ(ids_of({.where = {"group=essays"}}), Ids{"young"});
  EXPECT_EQ(ids_of({.where = {"title~of old"}}), Ids{"old"});
  EXPECT_EQ(ids_of({.ids = {"3", "4", "old"}, .sources = {"s"}}), (Ids{"3", "4"}));
  EXPECT_EQ(ids_of({.sources = {"new"}, .containing = "long ago"}), Ids{"old"});
  EXPECT_EQ(ids_of({.where = {"missing=1"}}), Ids{});
  EXPECT_THROW(ids_of({.where = {"year"}}), Error);
  EXPECT_THROW(ids_of({.where = {"!year"}}), Error);

  LiveDatabase live(living.place());
  const auto snapshot = live.newest();
  Retriever retriever(*snapshot->database, *snapshot->index, living.embedder());
  const auto young_only = filter_of(
      *snapshot->database, select_documents(*snapshot->database, {.where = {"lang=de"}}, nullptr));
  const auto found = retriever.retrieve(kQueries, 100, 1, young_only);
  for (const auto& neighbours : found) {
    ASSERT_EQ(neighbours.size(), 4U) << "14 bytes in chunks of 4";
    for (const RetrievedNeighbour& neighbour : neighbours) {
      const DatabaseDocument& document =
          snapshot->database->document(snapshot->database->document_of(neighbour.chunk_id));
      EXPECT_EQ(document.id, "young");
    }
  }
}

}  // namespace
}  // namespace retro
