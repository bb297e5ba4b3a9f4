#include "retro/text/corpus_split.h"

#include <set>

#include <gmock/gmock.h>

#include "text_test_support.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::ScratchDirectory;
using ::testing::SizeIs;
using testing::spill;

SourceConfig source_of(const std::string& name, double test_share = 0.02,
                       double validation_share = 0.02) {
  SourceConfig source;
  source.name = name;
  source.path = "unused.jsonl";
  source.test_share = test_share;
  source.validation_share = validation_share;
  return source;
}

// Python: x = int.from_bytes(hashlib.sha1(f"{family}/{key}".encode()).digest()[:8], "big");
//         100 * (x % 100) + x // 100 % 100
TEST(CorpusSplit, PositionsOfKeys) {
  EXPECT_EQ(split_position("wiki", "Alan Turing"), 1141);
  EXPECT_EQ(split_position("wiki", "Ada Lovelace"), 4839);
  EXPECT_EQ(split_position("bible", "Genesis 1"), 6492);
  EXPECT_EQ(split_position("linux", "admin-guide/README"), 6678);
  EXPECT_EQ(split_position("wiki", "\xC5\xBB\xC3\xB3\xC5\x82w"), 6171);
  EXPECT_EQ(split_position("f", ""), 3255);
}

TEST(CorpusSplit, SharesInWholePercents) {
  // Positions 1141 and 4839, so x mod 100 is 11 and 48.
  EXPECT_EQ(document_roles(source_of("wiki", 0.12, 0.0), "Alan Turing", ""), kRoleTest);
  EXPECT_EQ(document_roles(source_of("wiki", 0.11, 0.01), "Alan Turing", ""), kRoleValidation);
  EXPECT_EQ(document_roles(source_of("wiki", 0.02, 0.09), "Alan Turing", ""),
            kRoleTrain | kRoleDatabase);
  EXPECT_EQ(document_roles(source_of("wiki", 0.0, 0.48), "Ada Lovelace", ""),
            kRoleTrain | kRoleDatabase);
  EXPECT_EQ(document_roles(source_of("wiki", 0.0, 0.49), "Ada Lovelace", ""), kRoleValidation);
  EXPECT_EQ(document_roles(source_of("wiki", 1.0, 0.0), "Ada Lovelace", ""), kRoleTest);
  EXPECT_EQ(document_roles(source_of("wiki", 0.0, 0.0), "Alan Turing", ""),
            kRoleTrain | kRoleDatabase);
}

TEST(CorpusSplit, FinerShares) {
  // Positions in family "lab": t173 at 1248, t210 at 1259, t2721 at 1242.
  const SourceConfig source = source_of("lab", 0.1245, 0.0010);
  EXPECT_EQ(document_roles(source, "t2721", ""), kRoleTest);
  EXPECT_EQ(document_roles(source, "t173", ""), kRoleValidation);
  EXPECT_EQ(document_roles(source, "t210", ""), kRoleTrain | kRoleDatabase);
}

TEST(CorpusSplit, FamilyAndGroupDecide) {
  SourceConfig source = source_of("asv", 0.12, 0.0);
  source.family = "wiki";
  EXPECT_EQ(document_roles(source, "Alan Turing", ""), kRoleTest);
  EXPECT_EQ(document_roles(source, "another title", "Alan Turing"), kRoleTest);
  EXPECT_EQ(document_roles(source, "Alan Turing", "Ada Lovelace"), kRoleTrain | kRoleDatabase);
}

TEST(CorpusSplit, KindsOfSources) {
  SourceConfig source = source_of("wiki", 0.12, 0.0);
  source.in_database = false;
  EXPECT_EQ(document_roles(source, "Ada Lovelace", ""), kRoleTrain);
  source.kind = "database";
  EXPECT_EQ(document_roles(source, "Ada Lovelace", ""), kRoleDatabase);
  EXPECT_EQ(document_roles(source, "Alan Turing", ""),
            kRoleDatabase);  // whole, held-out titles included
}

class ReadSource : public ::testing::Test {
 protected:
  std::vector<std::string> ids(const SourceConfig& source, uint64_t seed) {
    std::vector<std::string> found;
    read_source(source, seed, [&](RawDocument&& document) { found.push_back(document.id); });
    return found;
  }
  /// `count` documents, two of each group.
  SourceConfig pairs(int count) {
    std::string lines;
    for (int i = 0; i < count; ++i) {
      lines += fmt::format("{{\"id\": \"{}\", \"text\": \"t\", \"group\": \"g{}\"}}\n", i, i / 2);
    }
    spill(scratch_ / "in.jsonl", lines);
    SourceConfig source = source_of("s");
    source.path = (scratch_ / "in.jsonl").string();
    return source;
  }
  ScratchDirectory scratch_;
};

TEST_F(ReadSource, AllWithoutALimit) {
  EXPECT_THAT(ids(pairs(6), 1), ElementsAre("0", "1", "2", "3", "4", "5"));
}

TEST_F(ReadSource, ASampleKeepsPairsTogether) {
  SourceConfig source = pairs(100);
  source.max_documents = 21;
  const auto sample = ids(source, 1);
  ASSERT_THAT(sample, SizeIs(20));  // an eleventh pair would be 22
  for (size_t i = 0; i < sample.size(); i += 2) {
    EXPECT_EQ(std::stoi(sample[i]) % 2, 0);
    EXPECT_EQ(std::stoi(sample[i + 1]), std::stoi(sample[i]) + 1);
  }
  EXPECT_EQ(ids(source, 1), sample);
  EXPECT_NE(ids(source, 2), sample);
  source.max_documents = 1000;
  EXPECT_THAT(ids(source, 1), SizeIs(100));
  source.max_documents = 1;
  EXPECT_EQ(error_of([&] { ids(source, 1); }),
            "corpus source 's': max_documents 1 is less than the documents of one group");
}

TEST_F(ReadSource, SourcesOfAFamilySampleTheSameGroups) {
  SourceConfig source = pairs(100);
  source.max_documents = 20;
  source.family = "work";
  const auto sample = ids(source, 1);
  source.name = "other edition";
  EXPECT_EQ(ids(source, 1), sample);
}

TEST_F(ReadSource, TokenizersSeeNoHeldOutText) {
  // In family wiki with shares 0.12 and 0: Alan Turing is held out, Ada Lovelace is not.
  const std::string lines =
      "{\"title\": \"Alan Turing\", \"text\": \"held out\"}\n{\"title\": \"Ada Lovelace\", "
      "\"text\": \"seen\"}\n";
  spill(scratch_ / "in.jsonl", lines);
  CorpusConfig config;
  config.sources = {source_of("wiki", 0.12, 0.0), source_of("old edition"), source_of("unrelated")};
  for (auto& source : config.sources) source.path = (scratch_ / "in.jsonl").string();
  config.sources[1].family = "wiki";
  config.sources[1].kind = "database";
  config.sources[2].kind = "database";
  std::vector<std::string> texts;
  read_tokenizer_texts(config, 1, [&](std::string_view text) { texts.emplace_back(text); });
  // Of the database source whose family nothing is held out in, everything.
  EXPECT_THAT(texts, ElementsAre("seen", "seen", "held out", "seen"));
}

TEST(CorpusConfig, Contradictions) {
  const auto refusal = [](const auto& change) {
    CorpusConfig config;
    config.sources = {source_of("a"), source_of("b")};
    change(config);
    return error_of([&] { check_corpus_config(config); });
  };
  EXPECT_THAT(refusal([](CorpusConfig& c) { c.sources.clear(); }),
              HasSubstr("corpus.sources is empty"));
  EXPECT_THAT(refusal([](CorpusConfig& c) { c.sources[1].name = ""; }),
              HasSubstr("a source has no name"));
  EXPECT_THAT(refusal([](CorpusConfig& c) { c.sources[1].name = "a"; }),
              HasSubstr("two sources are named 'a'"));
  EXPECT_THAT(refusal([](CorpusConfig& c) { c.sources[1].name = "all"; }),
              HasSubstr("corpus source 'all': another name is needed"));
  EXPECT_THAT(refusal([](CorpusConfig& c) { c.sources[1].path = ""; }),
              HasSubstr("corpus source 'b': path is missing"));
  EXPECT_THAT(refusal([](CorpusConfig& c) { c.sources[0].kind = "test"; }),
              HasSubstr("kind 'test', expected evaluated or database"));
  EXPECT_THAT(refusal([](CorpusConfig& c) { c.sources[0].test_share = -0.1; }),
              HasSubstr("must lie in 0..1"));
  EXPECT_THAT(refusal([](CorpusConfig& c) { c.sources[0].test_share = 0.99; }),
              HasSubstr("more than 1 together"));
  EXPECT_THAT(refusal([](CorpusConfig& c) { c.sources[0].max_documents = -1; }),
              HasSubstr("max_documents -1"));
}

}  // namespace
}  // namespace retro
