// What `export` writes, `add` makes the same documents of.
#include <map>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "life_test_support.h"

namespace retro {
namespace {

using ::testing::ElementsAre;
using testing::LivingDatabase;
using testing::spill;

using Name = std::pair<std::string, std::string>;
using Content = std::tuple<std::string, std::string, std::string, std::string>;

/// Title, group, fields and text by source and id.
std::map<Name, Content> documents_of(const LivingDatabase& living) {
  const RetrievalDatabase database(living.place().database);
  std::map<Name, Content> documents;
  for (int64_t d = 0; d < database.num_documents(); ++d) {
    const DatabaseDocument& document = database.document(d);
    if (document.is_deleted) continue;
    documents[{document.source, document.id}] = {document.title, document.group, document.fields,
                                                 document_text(database, d, living.tokenizer())};
  }
  return documents;
}

std::string exported(const LivingDatabase& living) {
  const RetrievalDatabase database(living.place().database);
  std::string lines;
  for (const int64_t d : select_documents(database, {}, nullptr)) {
    lines += document_as_jsonl(database, d, living.tokenizer());
  }
  return lines;
}

void add_lines(LivingDatabase& living, const std::string& lines, const std::string& source = "") {
  const auto path = living.directory() / "lines.jsonl";
  spill(path, lines);
  const IdScope scope = source.empty() ? IdScope::kSource : IdScope::kAll;
  const auto read = [&](const std::function<void(RawDocument &&)>& sink) {
    read_documents(path, sink, scope);
  };
  DatabaseWriter(living.place()).add({read, source, false}, living.tokenizer(), living.embedder());
}

std::vector<std::string> sources_where(const LivingDatabase& living, const std::string& condition) {
  const RetrievalDatabase database(living.place().database);
  std::vector<std::string> sources;
  for (const int64_t d : select_documents(database, {.where = {condition}}, nullptr)) {
    sources.push_back(database.document(d).source);
  }
  return sources;
}

constexpr const char* kLines =
    R"({"id":"1","source":"a","text":"alpha beta","title":"One","group":"g","year":1990})"
    "\n"
    R"({"id":"1","source":"b","fields.source":"own","text":"gamma","tags":["x"]})"
    "\n"
    R"({"id":"2","source":7,"text":"delta"})"
    "\n"
    R"({"id":"3","fields.source":"own","fields.fields.source":5,"fields.x":1,"text":"beta"})"
    "\n";

TEST(Export, IsReadBackAsTheSameDocuments) {
  LivingDatabase first({{"s", "1", "some text"}});
  add_lines(first, kLines);
  LivingDatabase second({{"other", "1", "another text"}});
  add_lines(second, exported(first));
  auto expected = documents_of(first);
  EXPECT_EQ(expected.size(), 5U);
  expected[{"other", "1"}] = documents_of(second).at({"other", "1"});
  EXPECT_EQ(documents_of(second), expected);
}

TEST(Export, ALineNamesItsSourceAndItsOwnFields) {
  LivingDatabase living({{"s", "1", "some text"}});
  add_lines(living, kLines);
  const auto documents = documents_of(living);
  EXPECT_EQ(std::get<2>(documents.at({"a", "1"})), R"({"year":1990})");
  EXPECT_EQ(std::get<2>(documents.at({"b", "1"})), R"({"source":"own","tags":["x"]})");
  EXPECT_EQ(std::get<2>(documents.at({"added", "2"})), R"({"source":7})");
  EXPECT_EQ(std::get<2>(documents.at({"added", "3"})),
            R"({"fields.source":5,"fields.x":1,"source":"own"})");
  EXPECT_THAT(sources_where(living, "source=b"), ElementsAre("b"));
  EXPECT_THAT(sources_where(living, "fields.source=own"), ElementsAre("b", "added"));
  EXPECT_THAT(sources_where(living, "fields.year>1980"), ElementsAre("a"));
}

TEST(Export, WhereASourceIsGivenTheLinesOwnIsAField) {
  LivingDatabase living({{"s", "1", "some text"}});
  add_lines(living, R"({"id":"1","source":"recipe","text":"alpha"})", "mine");
  const auto documents = documents_of(living);
  EXPECT_EQ(std::get<2>(documents.at({"mine", "1"})), R"({"source":"recipe"})");
  EXPECT_THAT(sources_where(living, "fields.source=recipe"), ElementsAre("mine"));
  EXPECT_THAT(sources_where(living, "source=recipe"), ElementsAre());
}

}  // namespace
}  // namespace retro
