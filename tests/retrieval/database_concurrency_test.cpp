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
  Retriever retriever(*snapshot.database, *snapshot.index, embedder);
  for (const auto& found : retriever.retrieve(kQueries, kNeighbours)) {
    std::vector<int64_t> ids;
    for (const RetrievedNeighbour& neighbour : found) ids.push_back(neighbour.chunk_id);
    state.answers.push_back(ids);
  }
  return state;
}

TEST(DatabaseConcurrency, EveryAnswerIsThatOfSomeSerialOrder) {
  LivingDatabase living(testing::random_documents(60, 3));
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
