#include "retro/text/token_corpus.h"

#include <functional>
#include <numeric>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "retro/core/log.h"

#include "text_test_support.h"

namespace retro {
namespace {

using nlohmann::json;
using testing::ByteTokenizer;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ScratchDirectory;
using testing::slurp;
using testing::spill;

// Roles in family "lab" with shares 0.2 and 0.2 (positions worked out with Python's hashlib): test
// are the titles "document 4, 5, 9, 14", validation "document 2, 10, 21, 22", train "document 0, 1,
// 3, 6, 7, 8, 11, 12".
class TokenCorpusTest : public ::testing::Test {
 protected:
  TokenCorpusTest() {
    set_log_quiet(true);
    add_source("lab");
  }

  SourceConfig& add_source(const std::string& name) {
    SourceConfig source;
    source.name = name;
    source.path = (scratch_ / (name + ".jsonl")).string();
    source.family = "lab";
    source.test_share = 0.2;
    source.validation_share = 0.2;
    config_.sources.push_back(source);
    return config_.sources.back();
  }
  void add(const std::string& source, int number, const std::string& text,
           json more = json::object()) {
    more["id"] = "d" + std::to_string(number);
    more["title"] = "document " + std::to_string(number);
    more["text"] = text;
    lines_[source] += more.dump() + "\n";
  }
  std::vector<SourceSummary> build(int num_threads = 2) {
    for (const auto& [name, lines] : lines_) spill(scratch_ / (name + ".jsonl"), lines);
    return build_token_corpus(config_, ByteTokenizer(), 1, num_threads, directory_);
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      found[entry.path().filename().string()] = slurp(entry.path());
    }
    return found;
  }
  /// The roles of every document by id.
  static std::map<std::string, uint32_t> roles_of(const TokenCorpus& corpus) {
    std::map<std::string, uint32_t> roles;
    for (int64_t i = 0; i < corpus.num_documents(); ++i)
      roles[corpus.document(i).id] = corpus.document(i).roles;
    return roles;
  }
  /// What deduplication.jsonl says.
  std::vector<json> duplicates() const {
    std::vector<json> found;
    std::istringstream lines(slurp(directory_ / "deduplication.jsonl"));
    for (std::string line; std::getline(lines, line);) found.push_back(json::parse(line));
    return found;
  }

  ScratchDirectory scratch_;
  CorpusConfig config_;
  std::map<std::string, std::string> lines_;
  std::filesystem::path directory_ = scratch_ / "corpus";
};

TEST_F(TokenCorpusTest, DocumentsAndTokens) {
  add("lab", 4, "test text");
  add("lab", 2, "validation", {{"group", "document 2"}, {"year", 1913}});
  add("lab", 0, "train\xC3\xA9");
  const auto summaries = build();
  const TokenCorpus corpus(directory_);
  ASSERT_EQ(corpus.num_documents(), 3);
  const DocumentInfo& second = corpus.document(1);
  EXPECT_EQ(second.id, "d2");
  EXPECT_EQ(second.title, "document 2");
  EXPECT_EQ(second.source, "lab");
  EXPECT_EQ(second.group, "document 2");
  EXPECT_EQ(second.fields, "{\"year\":1913}");
  EXPECT_EQ(second.first_token, 9);
  EXPECT_EQ(second.num_tokens, 10);
  EXPECT_EQ(second.num_bytes, 10);
  EXPECT_EQ(corpus.document(0).group, "lab/d4");
  EXPECT_EQ(corpus.document(2).num_bytes, 7);
  EXPECT_THAT(corpus.tokens(2), ElementsAre('t', 'r', 'a', 'i', 'n', 0xC3, 0xA9));
  EXPECT_THAT(corpus.token_bytes(2), ElementsAre(1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(roles_of(corpus),
              ElementsAre(std::pair("d0", kRoleTrain | kRoleDatabase),
                          std::pair("d2", kRoleValidation), std::pair("d4", kRoleTest)));
  EXPECT_THAT(corpus.documents_with(kRoleTest | kRoleDatabase), ElementsAre(0, 2));
  EXPECT_EQ(corpus.tokenizer_identity(), "bytes");
  ASSERT_EQ(summaries.size(), 1U);
  EXPECT_EQ(summaries[0].documents, 3);
  EXPECT_EQ(summaries[0].train, 1);
  EXPECT_EQ(summaries[0].validation, 1);
  EXPECT_EQ(summaries[0].test, 1);
  EXPECT_EQ(summaries[0].database, 1);
  EXPECT_EQ(summaries[0].tokens, 26);
  EXPECT_EQ(summaries[0].bytes, 26);
  EXPECT_EQ(summaries[0].dropped_duplicates, 0);
  corpus.verify();
}

TEST_F(TokenCorpusTest, SourcesFollowOneAnother) {
  add_source("old").kind = "database";
  add("lab", 0, "new");
  add("old", 4, "held-out title");
  const auto summaries = build();
  const TokenCorpus corpus(directory_);
  EXPECT_EQ(corpus.document(0).source, "lab");
  EXPECT_EQ(corpus.document(1).source, "old");
  EXPECT_EQ(corpus.document(1).first_token, 3);
  EXPECT_EQ(corpus.document(1).roles, kRoleDatabase);
  EXPECT_EQ(summaries[1].database, 1);
  EXPECT_EQ(summaries[1].train, 0);
}

TEST_F(TokenCorpusTest, SameFilesForAnyNumberOfThreads) {
  for (int i = 0; i < 200; ++i)
    add("lab", i, testing::made_up_text(static_cast<uint64_t>(i), 50U * static_cast<size_t>(i)));
  build(1);
  const auto once = files();
  EXPECT_THAT(once, ::testing::SizeIs(5));
  build(4);
  EXPECT_EQ(files(), once);
}

TEST_F(TokenCorpusTest, HashNamesTheContent) {
  add("lab", 0, "text");
  build();
  const std::string hash = TokenCorpus(directory_).hash();
  EXPECT_EQ(hash.size(), 32U);
  build();
  EXPECT_EQ(TokenCorpus(directory_).hash(), hash);
  lines_.clear();
  add("lab", 0, "texs");  // same length, so same document table
  build();
  EXPECT_NE(TokenCorpus(directory_).hash(), hash);
}

TEST_F(TokenCorpusTest, DocumentsWithoutTextAreLeftOut) {
  add("lab", 0, "");
  add("lab", 1, "text");
  build();
  EXPECT_EQ(TokenCorpus(directory_).num_documents(), 1);
  lines_.clear();
  add("lab", 0, "");
  EXPECT_EQ(error_of([&] { build(); }), "the corpus is empty: no document of its sources has text");
}

/// `length` bytes that repeat nothing, the first `common` of them always the same.
std::string text_of(size_t common, size_t length, uint64_t own) {
  std::string text;
  RandomStream shared(1, "shared");
  RandomStream individual(own, "own");
  for (size_t i = 0; i < length; ++i)
    text += static_cast<char>('!' + (i < common ? shared : individual).below(90));
  return text;
}

TEST_F(TokenCorpusTest, NearDuplicatesOfHeldOutTextAreDropped) {
  add("lab", 0, text_of(101, 112, 1));  // 89 common shingles of 111: 0.80 of document 4
  add("lab", 1, text_of(100, 112, 2));  // 88 of 112: 0.79
  add("lab", 2, text_of(112, 112, 3));  // validation, equal to the test document: stays
  add("lab", 4, text_of(112, 112, 4));  // test
  add("lab", 3, text_of(0, 112, 5));
  const auto summaries = build();
  EXPECT_THAT(
      roles_of(TokenCorpus(directory_)),
      ElementsAre(std::pair("d1", kRoleTrain | kRoleDatabase), std::pair("d2", kRoleValidation),
                  std::pair("d3", kRoleTrain | kRoleDatabase), std::pair("d4", kRoleTest)));
  EXPECT_EQ(summaries[0].dropped_duplicates, 1);
  EXPECT_EQ(summaries[0].documents, 4);
  ASSERT_EQ(duplicates().size(), 1U);
  EXPECT_EQ(duplicates()[0], json({{"id", "d0"},
                                   {"source", "lab"},
                                   {"similar_id", "d2"},  // equal to d4 and read before it
                                   {"similar_source", "lab"},
                                   {"similar_copies", 2},
                                   {"similarity", 89.0 / 111.0},
                                   {"lost_roles", {"train", "database"}}}));
}

// One held-out boilerplate, and every training document another copy of it: one line each.
TEST_F(TokenCorpusTest, CopiesOfOneTextAreComparedOnce) {
  const std::string text = text_of(112, 112, 1);
  for (const int held_out : {4, 5, 9, 14, 2, 10, 21, 22}) add("lab", held_out, text);
  for (const int train : {0, 1, 3, 6, 7, 8, 11, 12}) add("lab", train, text);
  const auto summaries = build();
  EXPECT_EQ(summaries[0].dropped_duplicates, 8);
  EXPECT_EQ(summaries[0].train, 0);
  ASSERT_EQ(duplicates().size(), 8U);
  for (const json& line : duplicates()) {
    EXPECT_EQ(line.at("similar_id"), "d4");
    EXPECT_EQ(line.at("similar_copies"), 8);
  }
}

TEST_F(TokenCorpusTest, TheDatabaseMayKeepNearDuplicates) {
  config_.deduplicate_database = false;
  add_source("old").kind = "database";
  const std::string text = text_of(112, 112, 1);
  add("lab", 0, text);
  add("lab", 4, text);
  add("old", 4, text);
  build();
  {
    const TokenCorpus corpus(directory_);
    ASSERT_EQ(corpus.num_documents(), 3);
    EXPECT_EQ(corpus.document(0).roles, kRoleDatabase);  // training never keeps them
    EXPECT_EQ(corpus.document(2).roles, kRoleDatabase);
    EXPECT_EQ(duplicates().size(), 1U);
  }
  config_.deduplicate_database = true;
  build();
  EXPECT_THAT(roles_of(TokenCorpus(directory_)), ElementsAre(std::pair("d4", kRoleTest)));
  EXPECT_EQ(duplicates().size(), 2U);
  // A document that keeps a role is written, with fewer.
  config_.sources[0].in_database = false;
  config_.deduplicate_database = false;
  EXPECT_EQ(build()[0].documents, 1);
}

TEST_F(TokenCorpusTest, OfNearDuplicatesWithinOneStays) {
  add_source("old").kind = "database";
  add("lab", 0, text_of(112, 112, 1));
  add("lab", 1, text_of(110, 110, 1));  // loses both roles to d0
  add("lab", 4, text_of(0, 112, 2));    // test
  add("lab", 3, text_of(0, 112, 3));
  add("old", 6, text_of(111, 111, 1));  // loses its only role to d0
  build();
  EXPECT_EQ(TokenCorpus(directory_).num_documents(), 5);  // off by default
  config_.deduplicate_within = true;
  const auto summaries = build();
  const TokenCorpus corpus(directory_);
  EXPECT_THAT(roles_of(corpus),
              ElementsAre(std::pair("d0", kRoleTrain | kRoleDatabase),
                          std::pair("d3", kRoleTrain | kRoleDatabase), std::pair("d4", kRoleTest)));
  EXPECT_EQ(corpus.document(1).first_token, 112);
  EXPECT_THAT(corpus.token_bytes(0).size(), 112U);
  EXPECT_EQ(summaries[0].documents, 3);
  EXPECT_EQ(summaries[0].tokens, 336);
  EXPECT_EQ(summaries[0].dropped_duplicates, 1);
  EXPECT_EQ(summaries[1].documents, 0);
  ASSERT_EQ(duplicates().size(), 2U);
  EXPECT_EQ(duplicates()[0], json({{"id", "d1"},
                                   {"source", "lab"},
                                   {"similar_id", "d0"},
                                   {"similar_source", "lab"},
                                   {"similarity", 98.0 / 100.0},
                                   {"lost_roles", {"train", "database"}}}));
  EXPECT_EQ(duplicates()[1].at("lost_roles"), json({"database"}));
  EXPECT_EQ(files().size(), 5U);  // nothing is left behind
  corpus.verify();
  // The database may keep its copies; training does not.
  config_.deduplicate_database = false;
  build();
  EXPECT_EQ(roles_of(TokenCorpus(directory_)).at("d1"), kRoleDatabase);
}

TEST_F(TokenCorpusTest, ShortDocumentsMustBeEqual) {
  add("lab", 0, "a short one");
  add("lab", 1, "a short two");
  add("lab", 4, "a short one");
  build();
  EXPECT_THAT(roles_of(TokenCorpus(directory_)),
              ElementsAre(std::pair("d1", kRoleTrain | kRoleDatabase), std::pair("d4", kRoleTest)));
}

TEST_F(TokenCorpusTest, AFailedBuildLeavesTheOldCorpus) {
  add("lab", 0, "text");
  build();
  const auto before = files();
  lines_["lab"] += "not json\n";
  EXPECT_THAT(error_of([&] { build(); }), HasSubstr("lab.jsonl:2:"));
  EXPECT_EQ(files(), before);
  EXPECT_THAT(scratch_.names(), ElementsAre("corpus", "lab.jsonl"));
}

TEST_F(TokenCorpusTest, ATokenizerThatLosesTextIsRefused) {
  class Lossy final : public ByteTokenizer {
    std::string decode(std::span<const int32_t>) const override { return "text"; }
  };
  spill(scratch_ / "lab.jsonl", R"({"id": "a", "text": "text"})"
                                "\n"
                                R"({"id": "b", "text": "other"})"
                                "\n");
  EXPECT_THAT(error_of([&] { build_token_corpus(config_, Lossy(), 1, 2, directory_); }),
              HasSubstr("source 'lab', document \"b\": the tokenizer does not give its text back"));
}

class DamagedCorpus : public TokenCorpusTest {
 protected:
  DamagedCorpus() {
    add("lab", 0, "some text");
    add("lab", 4, "other text");
    build();
  }
  /// The error on opening with `file` replaced by `content`.
  std::string refusal(const std::string& file, const std::string& content) {
    const std::string good = slurp(directory_ / file);
    spill(directory_ / file, content);
    const std::string message = error_of([&] { TokenCorpus{directory_}; });
    spill(directory_ / file, good);
    EXPECT_NO_THROW(TokenCorpus{directory_});
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    return message;
  }
  json manifest() { return json::parse(slurp(directory_ / "manifest.json")); }
};

TEST_F(DamagedCorpus, IncompleteOrForeign) {
  EXPECT_THAT(
      error_of([&] { TokenCorpus{scratch_ / "nowhere"}; }),
      HasSubstr(
          "nowhere: no complete corpus here (manifest.json is missing); run `retro corpus` again"));
  EXPECT_THAT(refusal("manifest.json", "{\"format\": \"other\"}"),
              HasSubstr("manifest.json: expected format \"retro corpus\", found \"other\"; run "
                        "`retro corpus` again"));
  EXPECT_THAT(refusal("manifest.json", "[]"), HasSubstr("manifest.json: expected format"));
  EXPECT_THAT(refusal("manifest.json", "{"), HasSubstr("manifest.json"));
  json older = manifest();
  older["version"] = 0;
  EXPECT_THAT(refusal("manifest.json", older.dump()),
              HasSubstr("corpus version 0, expected 1; run `retro corpus` again"));
}

TEST_F(DamagedCorpus, CutFiles) {
  for (const std::string file : {"documents.jsonl", "tokens.bin", "token_bytes.bin"}) {
    const std::string good = slurp(directory_ / file);
    for (const size_t length : {size_t{0}, size_t{1}, good.size() / 2, good.size() - 1}) {
      EXPECT_THAT(refusal(file, good.substr(0, length)), HasSubstr("run `retro corpus` again"))
          << file << length;
    }
  }
}

TEST_F(DamagedCorpus, FilesOfAnotherCorpus) {
  const auto own = files();
  lines_.clear();
  add("lab", 1, "another corpus");
  build();
  for (const std::string file : {"documents.jsonl", "tokens.bin", "token_bytes.bin"}) {
    EXPECT_THAT(refusal(file, own.at(file)), HasSubstr("run `retro corpus` again")) << file;
  }
}

TEST_F(DamagedCorpus, FlippedBytesAreFoundByVerify) {
  for (const std::string file : {"tokens.bin", "token_bytes.bin"}) {
    std::string bytes = slurp(directory_ / file);
    const std::string good = bytes;
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    spill(directory_ / file, bytes);
    EXPECT_THAT(error_of([&] { TokenCorpus(directory_).verify(); }), HasSubstr(file));
    spill(directory_ / file, good);
  }
}

TEST(RoleNames, AreThoseOfTheConfig) {
  EXPECT_EQ(role_name(kRoleTrain), "train");
  EXPECT_EQ(role_name(kRoleValidation), "validation");
  EXPECT_EQ(role_name(kRoleTest), "test");
  EXPECT_EQ(role_name(kRoleDatabase), "database");
}

}  // namespace
}  // namespace retro
