// Documents come and go: answers are those of a plain list of what should be there.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/core/checked_json.h"
#include "retro/core/file_tree.h"

#include "life_test_support.h"

namespace retro {
namespace {

namespace fs = std::filesystem;
using testing::addition;
using testing::error_of;
using ::testing::HasSubstr;
using testing::LivingDatabase;
using ::testing::Not;
using testing::raw_document;

const std::vector<testing::TestDocument> kLifeDocuments{
    {"s", "a", "one two three"}, {"s", "b", "four five six"}, {"t", "c", "seven eight nine"}};

TEST(DatabaseLife, AddedDocumentsAreFoundAtOnceWithTheNextIds) {
  LivingDatabase living(kLifeDocuments);
  const DatabaseChange change =
      living.add({raw_document("x", "hello world"), raw_document("y", "last")});
  EXPECT_EQ(change.documents_added, 2);
  EXPECT_EQ(change.chunks_added, 4);
  const RetrievalDatabase database(living.place().database);
  // 13 + 13 + 16 bytes in chunks of 4: the base has chunks 0 to 11.
  EXPECT_EQ(database.document(database.find_document("new", "x")).first_chunk, 12);
  EXPECT_EQ(database.document(database.find_document("new", "y")).first_chunk, 15);
  EXPECT_EQ(database.num_chunks(), 16);
  living.expect_as_expected("after add");
}

TEST(DatabaseLife, DeletedDocumentsAreGoneAtOnceAndNoIdMoves) {
  LivingDatabase living(kLifeDocuments);
  const DatabaseChange change = living.remove("s", "b");
  EXPECT_EQ(change.documents_deleted, 1);
  EXPECT_EQ(change.chunks_deleted, 4);
  const RetrievalDatabase database(living.place().database);
  EXPECT_EQ(database.num_chunks(), 12);
  EXPECT_EQ(database.num_live_chunks(), 8);
  EXPECT_EQ(database.num_indexable(), 8);
  EXPECT_FALSE(database.has_key(4));
  EXPECT_TRUE(database.has_key(8));
  std::vector<int32_t> value(8);
  database.copy_value(4, value);
  EXPECT_EQ(value, std::vector<int32_t>(8, -1)) << "a stale id gives nothing";
  living.expect_as_expected("after delete");
}

TEST(DatabaseLife, CompactionKeepsIdsAndAnswers) {
  LivingDatabase living(kLifeDocuments);
  living.add({raw_document("x", "hello world")});
  living.remove("s", "a");
  living.remove("new", "x");
  living.add({raw_document("z", "brave new world")});
  living.expect_as_expected("before");
  living.compact();
  living.expect_as_expected("after");
  const RetrievalDatabase database(living.place().database);
  EXPECT_EQ(database.num_documents(), 3);
  EXPECT_EQ(database.num_rows(), 12);
  EXPECT_FALSE(database.is_live(0));
  EXPECT_THROW(database.document_of(0), Error);
  living.add({raw_document("x", "again")});
  living.remove("s", "b");
  living.expect_as_expected("a life after compaction");
  living.compact();
  living.expect_as_expected("second compaction");
}

TEST(DatabaseLife, UpdateReplacesInOneStep) {
  LivingDatabase living(kLifeDocuments);
  living.add({raw_document("x", "old words here")});
  const std::string error = error_of([&] { living.add({raw_document("x", "new words")}); });
  EXPECT_THAT(error, HasSubstr("document x of source new is already there"));
  const DatabaseChange change = living.add({raw_document("x", "new words")}, true);
  EXPECT_EQ(change.documents_added, 1);
  EXPECT_EQ(change.documents_deleted, 1);
  living.expect_as_expected("after update");
}

TEST(DatabaseLife, AnUpdateWithoutTextDeletes) {
  LivingDatabase living(kLifeDocuments);
  living.add({raw_document("x", "hello world"), raw_document("y", "stays")});
  const DatabaseChange change = DatabaseWriter(living.place())
                                    .add(addition({raw_document("x", "")}, "new", true),
                                         living.tokenizer(), living.embedder());
  EXPECT_EQ(change.documents_added, 0);
  EXPECT_EQ(change.documents_deleted, 1);
  EXPECT_EQ(change.documents_emptied, 1);
  EXPECT_EQ(change.chunks_deleted, 3);
  living.forget("new", "x");
  living.expect_as_expected("after the update");
}

TEST(DatabaseLife, OldStatesLeftByAKillAreRemoved) {
  LivingDatabase living(kLifeDocuments);
  for (const fs::path& path : {living.place().database, living.place().index}) {
    EXPECT_TRUE(testing::was_killed(testing::run_in_child([&] {
      const TemporaryDirectory old(path);
      ::raise(SIGKILL);
    })));
  }
  const DatabaseWriter writer(living.place());
  for (const auto& entry : fs::directory_iterator(living.directory())) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".tmp-")));
  }
}

TEST(DatabaseLife, TheLastChunksDeletedKeepTheirIdsTaken) {
  LivingDatabase living(kLifeDocuments);
  living.add({raw_document("x", "hello world")});
  living.remove("new", "x");
  living.compact();
  living.add({raw_document("y", "hello world")});
  const RetrievalDatabase database(living.place().database);
  EXPECT_EQ(database.document(database.find_document("new", "y")).first_chunk, 15);
  living.expect_as_expected("after all");
}

TEST(DatabaseLife, EveryIndexTypeLives) {
  for (const std::string type : {"exact", "ivf_flat", "ivf_pq"}) {
    LivingDatabase living(testing::random_documents(400, 5), type, 150);
    living.add({raw_document("x", testing::random_text(40, 5)), raw_document("y", "alpha")});
    living.expect_as_expected(type + " after add");
    // Two thirds of the indexed documents go: candidates must be looked for past them.
    DatabaseWriter writer(living.place());
    std::vector<int64_t> removed;
    for (int64_t d = 0; d < 80; ++d) {
      if (d % 3 == 0) continue;
      removed.push_back(d);
      living.forget("s", writer.database().document(d).id);
    }
    writer.remove(removed);
    living.expect_as_expected(type + " after delete");
    writer.compact(living.settings());
    living.expect_as_expected(type + " after compaction");
    EXPECT_EQ(writer.database().num_rows(), writer.database().num_live_chunks());
  }
}

TEST(DatabaseLife, ManySmallAdditionsLeaveFewShards) {
  LivingDatabase living(kLifeDocuments);
  for (int i = 0; i < 40; ++i) {
    living.add({raw_document(std::to_string(i), "text number " + std::to_string(i))});
  }
  const RetrievalDatabase database(living.place().database);
  EXPECT_LE(database.num_shards(), 8);
  living.expect_as_expected("after 40 additions");
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(living.place().database)) {
    names.insert(entry.path().filename());
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(database.num_shards()) + 2)
      << "manifest, made_from and the shards: merged ones are removed";
}

TEST(DatabaseLife, ReadersKeepWhatTheyOpened) {
  LivingDatabase living(kLifeDocuments);
  LiveDatabase live(living.place());
  const auto before = live.newest();
  EXPECT_EQ(live.newest(), before) << "nothing has changed";
  living.add({raw_document("x", "hello world")});
  living.remove("s", "a");
  living.compact();
  EXPECT_EQ(before->database->num_live_documents(), 3);
  const std::vector<float> query = living.key_of("one ");
  EXPECT_EQ(testing::search(*before->index, query, 1).ids[0], 0) << "deleted since";
  EXPECT_NE(testing::search(*live.newest()->index, query, 1).ids[0], 0);
  EXPECT_EQ(live.newest()->database->num_live_documents(), 3);
}

TEST(DatabaseLife, AnIndexThatDoesNotSayWhatItCoversLivesOn) {
  LivingDatabase living(testing::random_documents(60, 6), "ivf_flat");
  const fs::path path = living.place().index / "index.json";
  nlohmann::json json = read_checked_json(path);
  ASSERT_EQ(json.erase("covers"), 1U);
  json["format_version"] = 1;
  write_json_file(path, json);
  living.add({raw_document("x", "hello world")});
  living.remove("s", "3");
  living.expect_as_expected("an index of an older program");
}

TEST(DatabaseLife, OneWriterAtATime) {
  LivingDatabase living(kLifeDocuments);
  const DatabaseWriter writer(living.place());
  const std::string error = error_of([&] { const DatabaseWriter second(living.place()); });
  EXPECT_THAT(error, HasSubstr("is being changed by process " + std::to_string(::getpid())));
}

TEST(DatabaseLife, ALockOfADeadWriterIsNoLock) {
  LivingDatabase living(kLifeDocuments);
  EXPECT_TRUE(testing::was_killed(testing::run_in_child([&] {
    const DatabaseWriter writer(living.place());
    ::raise(SIGKILL);
  })));
  living.add({raw_document("x", "hello world")});
  living.expect_as_expected("after the death of a writer");
}

TEST(DatabaseLife, NothingLeftIsRefusedByCompactionAlone) {
  LivingDatabase living(kLifeDocuments);
  for (const auto& document : kLifeDocuments) living.remove(document.source, document.id);
  living.expect_as_expected("all deleted");
  EXPECT_THAT(error_of([&] { living.compact(); }), HasSubstr("remove the directory"));
  living.add({raw_document("x", "hello world")});
  living.compact();
  living.expect_as_expected("alive again");
}

TEST(DatabaseLife, OtherRecipesAreRefused) {
  LivingDatabase living(kLifeDocuments);
  DatabaseWriter writer(living.place());
  const Addition documents = addition({raw_document("x", "hello")});
  EXPECT_THAT(
      error_of([&] { writer.add(documents, testing::ByteTokenizer("other"), living.embedder()); }),
      HasSubstr("made with the tokenizer bytes, not with other"));
  testing::ClusterEmbedder wide(9);
  EXPECT_THAT(error_of([&] { writer.add(documents, living.tokenizer(), wide); }),
              HasSubstr("clusters:9"));
  EXPECT_THAT(error_of([&] {
                writer.add(addition({raw_document("x", "a"), raw_document("x", "b")}),
                           living.tokenizer(), living.embedder());
              }),
              HasSubstr("comes twice"));
  EXPECT_EQ(writer.add(addition({raw_document("e", "")}), living.tokenizer(), living.embedder())
                .documents_added,
            0);
  EXPECT_EQ(writer.database().generation(), 0) << "none of it happened";
}

TEST(DatabaseLife, ABuildFindsAChangedDatabaseUpToDate) {
  LivingDatabase living(kLifeDocuments);
  living.add({raw_document("x", "hello world")});
  const testing::TestCorpus corpus(living.directory(), kLifeDocuments);
  testing::ClusterEmbedder embedder(LivingDatabase::kWidth);
  build_database(corpus.grid(4), living.tokenizer(), embedder, testing::database_config(4),
                 living.place().database);
  living.expect_as_expected("after another build of the same corpus");
  build_index(RetrievalDatabase(living.place().database), living.settings().index, 7, 1,
              living.place().index);
  living.expect_as_expected("after an index of all of it");
  living.add({raw_document("y", "more")});
  living.compact();
  living.expect_as_expected("after compaction");
}

TEST(DatabaseLife, ABuildOfSomethingElseUndoesNoChange) {
  LivingDatabase living(kLifeDocuments);
  const testing::TestCorpus corpus(living.directory(), kLifeDocuments);
  testing::ClusterEmbedder embedder(LivingDatabase::kWidth);
  const auto build = [&](const std::string& key_storage) {
    build_database(corpus.grid(4), living.tokenizer(), embedder,
                   testing::database_config(4, key_storage), living.place().database);
  };
  living.add({raw_document("x", "hello world")});
  living.compact();
  const auto before = testing::tree_of(living.place().database);
  EXPECT_THAT(error_of([&] { build("float16"); }), HasSubstr("would undo that"));
  EXPECT_EQ(testing::tree_of(living.place().database), before);
  const std::string manifest = testing::slurp(living.place().database / "manifest.json");
  testing::spill(living.place().database / "manifest.json", manifest.substr(0, 100));
  EXPECT_THAT(error_of([&] { build("float32"); }), HasSubstr("manifest.json cannot be read"));
  testing::spill(living.place().database / "manifest.json", manifest);
  EXPECT_EQ(testing::tree_of(living.place().database), before);
  build("float32");
  living.expect_as_expected("after the refusal and a build of what it was made from");
}

}  // namespace
}  // namespace retro
