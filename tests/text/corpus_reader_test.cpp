#include "retro/text/corpus_reader.h"

#include <tuple>
#include <vector>

#include <gmock/gmock.h>

#include "text_test_support.h"

namespace retro {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::error_of;
using ::testing::HasSubstr;
using testing::ScratchDirectory;
using testing::slurp;
using testing::spill;
using testing::spill_gzip;

class CorpusReader : public ::testing::Test {
 protected:
  std::vector<RawDocument> read(std::string_view name) {
    std::vector<RawDocument> documents;
    read_documents(scratch_ / name,
                   [&](RawDocument&& document) { documents.push_back(std::move(document)); });
    return documents;
  }
  std::vector<RawDocument> read_lines(const std::string& lines) {
    spill(scratch_ / "in.jsonl", lines);
    return read("in.jsonl");
  }
  /// The error for a file of these lines, without the scratch directory's name.
  std::string refusal(const std::string& lines) {
    const std::string message = error_of([&] { read_lines(lines); });
    const std::string folder = scratch_.path().string() + "/";
    return message.starts_with(folder) ? message.substr(folder.size()) : message;
  }
  std::vector<std::string> texts(std::string_view name) {
    std::vector<std::string> found;
    for (const RawDocument& document : read(name)) found.push_back(document.text);
    return found;
  }
  ScratchDirectory scratch_;
};

TEST_F(CorpusReader, FieldsOfADocument) {
  const auto documents = read_lines(
      R"({"id": "a", "title": "One", "text": "line\nline", "group": "g", "year": 1913, "tags": ["x"]})"
      "\n"
      R"({"text": "\u00e9\u0000", "id": 7, "title": null})"
      "\n");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[0].id, "a");
  EXPECT_EQ(documents[0].title, "One");
  EXPECT_EQ(documents[0].text, "line\nline");
  EXPECT_EQ(documents[0].group, "g");
  EXPECT_EQ(documents[0].fields, R"({"tags":["x"],"year":1913})");
  EXPECT_EQ(documents[1].id, "7");
  EXPECT_EQ(documents[1].title, "7");  // an absent title is the id
  EXPECT_EQ(documents[1].text, "\xC3\xA9\0"s);
  EXPECT_EQ(documents[1].group, "");
  EXPECT_EQ(documents[1].fields, "{}");
}

TEST_F(CorpusReader, AnAbsentIdIsFileAndLine) {
  const auto documents = read_lines("{\"text\": \"a\"}\n\n  \n{\"text\": \"b\", \"title\": \"B\"}");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[0].id, "in.jsonl:1");
  EXPECT_EQ(documents[0].title, "in.jsonl:1");
  EXPECT_EQ(documents[1].id, "in.jsonl:4");
  EXPECT_EQ(documents[1].title, "B");
}

TEST_F(CorpusReader, ByteOrderMarkAndWindowsLineEnds) {
  read_lines("\xEF\xBB\xBF{\"text\": \"a\"}\r\n{\"text\": \"b\"}\r\n\r\n");
  EXPECT_THAT(texts("in.jsonl"), ElementsAre("a", "b"));
}

TEST_F(CorpusReader, LinesLongerThanTheBuffer) {
  // The reader's buffer is 1 MiB: texts that end just before, at and after its border, and one of
  // several buffers.
  std::string lines;
  std::vector<size_t> sizes = {(1U << 20) - 13, (1U << 20) - 12, (1U << 20) - 11, 1, 3'000'000, 5};
  for (const size_t size : sizes) lines += "{\"text\": \"" + std::string(size, 'x') + "\"}\n";
  const auto documents = read_lines(lines);
  ASSERT_EQ(documents.size(), sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(documents[i].text.size(), sizes[i]);
}

TEST_F(CorpusReader, Gzip) {
  spill_gzip(scratch_ / "in.jsonl.gz", "{\"text\": \"a\"}\n");
  EXPECT_THAT(texts("in.jsonl.gz"), ElementsAre("a"));
  spill_gzip(scratch_ / "in.jsonl.gz", "{\"text\": \"b\"}\n", "ab");  // a second member
  EXPECT_THAT(texts("in.jsonl.gz"), ElementsAre("a", "b"));
}

TEST_F(CorpusReader, DamagedGzip) {
  spill_gzip(scratch_ / "in.jsonl.gz",
             "{\"text\": \"" + testing::made_up_text(1, 20'000).substr(0, 60) + "\"}\n");
  const std::string whole = slurp(scratch_ / "in.jsonl.gz");
  for (const size_t length : {whole.size() - 1, whole.size() - 8, whole.size() / 2}) {
    spill(scratch_ / "in.jsonl.gz", whole.substr(0, length));
    EXPECT_THAT(error_of([&] { read("in.jsonl.gz"); }),
                EndsWith("in.jsonl.gz: cannot be read: the gzip data is cut off"));
  }
  std::string flipped = whole;
  flipped[whole.size() - 6] = static_cast<char>(flipped[whole.size() - 6] ^ 1);  // in the checksum
  spill(scratch_ / "in.jsonl.gz", flipped);
  EXPECT_THAT(error_of([&] { read("in.jsonl.gz"); }), HasSubstr("in.jsonl.gz: cannot be read: "));
  spill(scratch_ / "in.jsonl.gz", "{\"text\": \"plain\"}\n");
  EXPECT_THAT(error_of([&] { read("in.jsonl.gz"); }),
              EndsWith("in.jsonl.gz: expected gzip data, found other bytes"));
}

TEST_F(CorpusReader, FolderOfTexts) {
  std::filesystem::create_directories(scratch_ / "books/b");
  spill(scratch_ / "books/z.txt", "last");
  spill(scratch_ / "books/b/a.txt", "\xEF\xBB\xBFtwo\r\nlines\r\n");
  spill_gzip(scratch_ / "books/b.txt.gz", "packed");
  spill(scratch_ / "books/readme.rst", "not a document");
  spill(scratch_ / "books/other.gz", "not one either");
  const auto documents = read("books");
  ASSERT_EQ(documents.size(), 3U);
  // Sorted by relative path: '.' comes before '/'.
  EXPECT_EQ(documents[0].id, "b.txt.gz");
  EXPECT_EQ(documents[0].text, "packed");
  EXPECT_EQ(documents[1].id, "b/a.txt");
  EXPECT_EQ(documents[1].title, "a.txt");
  EXPECT_EQ(documents[1].text, "two\r\nlines\r\n");  // a text's own line ends stay
  EXPECT_EQ(documents[1].fields, "{}");
  EXPECT_EQ(documents[2].id, "z.txt");
}

TEST_F(CorpusReader, AFolderHoldsLinesOfJsonToo) {
  std::filesystem::create_directories(scratch_ / "mixed/b");
  spill(scratch_ / "mixed/a.jsonl", R"({"id": "one", "text": "first"})"
                                    "\n"
                                    R"({"text": "second"})");
  spill_gzip(scratch_ / "mixed/b/more.jsonl.gz", R"({"text": "third"})");
  spill(scratch_ / "mixed/c.txt", "fourth");
  const auto documents = read("mixed");
  ASSERT_EQ(documents.size(), 4U);
  EXPECT_EQ(documents[0].id, "one");
  EXPECT_EQ(documents[1].id, "a.jsonl:2");
  EXPECT_EQ(documents[2].id, "b/more.jsonl.gz:1");
  EXPECT_EQ(documents[2].text, "third");
  EXPECT_EQ(documents[3].id, "c.txt");
}

TEST_F(CorpusReader, EndingsInUpperCaseCount) {
  std::filesystem::create_directories(scratch_ / "shouting");
  spill(scratch_ / "shouting/A.TXT", "first");
  spill(scratch_ / "shouting/B.Html", "<p>second");
  spill_gzip(scratch_ / "shouting/C.TXT.GZ", "third");
  spill(scratch_ / "shouting/D.JSONL", R"({"text": "fourth"})");
  EXPECT_THAT(texts("shouting"), ElementsAre("first", "second\n", "third", "fourth"));
  EXPECT_THAT(texts("shouting/D.JSONL"), ElementsAre("fourth"));
}

TEST_F(CorpusReader, FilesOfOtherKindsAreCounted) {
  std::filesystem::create_directories(scratch_ / "some/b");
  spill(scratch_ / "some/a.txt", "text");
  spill(scratch_ / "some/paper.pdf", "%PDF");
  spill(scratch_ / "some/b/picture.png", "PNG");
  EXPECT_EQ(count_other_files(scratch_ / "some"), 2);
  EXPECT_EQ(count_other_files(scratch_ / "some/a.txt"), 0);
}

TEST_F(CorpusReader, AnIdStandsOnceInAFolder) {
  std::filesystem::create_directories(scratch_ / "twice");
  spill(scratch_ / "twice/a.jsonl", R"({"id": "one", "text": "first"})");
  spill(scratch_ / "twice/b.jsonl", R"({"id": "one", "text": "second"})");
  EXPECT_THAT(error_of([&] { read("twice"); }), EndsWith("b.jsonl:1: duplicate id \"one\""));
}

TEST_F(CorpusReader, AnIdMayStandOnceInEachSource) {
  const std::string lines = R"({"id": "one", "source": "a", "text": "first"})"
                            "\n"
                            R"({"id": "one", "source": "b", "text": "second", "n": 1})"
                            "\n"
                            R"({"id": "one", "source": 3, "text": "third"})"
                            "\n";
  spill(scratch_ / "in.jsonl", lines);
  std::vector<std::string> sources, fields;
  const auto note = [&](RawDocument&& document) {
    sources.push_back(document.source);
    fields.push_back(document.fields);
  };
  read_documents(scratch_ / "in.jsonl", note, IdScope::kSource);
  EXPECT_THAT(sources, ElementsAre("a", "b", ""));
  EXPECT_THAT(fields,
              ElementsAre(R"({"source":"a"})", R"({"n":1,"source":"b"})", R"({"source":3})"));
  EXPECT_THAT(refusal(lines), EndsWith("in.jsonl:2: duplicate id \"one\""));
}

TEST_F(CorpusReader, ErrorsNameFileAndLine) {
  const std::string good = "{\"id\": \"a\", \"text\": \"a\"}\n";
  EXPECT_EQ(refusal(good + "not json\n").substr(0, 11), "in.jsonl:2:");
  EXPECT_THAT(refusal(good + "not json\n"), HasSubstr("not valid JSON"));
  EXPECT_EQ(refusal(good + "\n[1, 2]\n"), "in.jsonl:3: expected a JSON object, found array");
  EXPECT_EQ(refusal("{\"id\": \"a\"}\n"),
            "in.jsonl:1: \"text\" is missing: each line is a document (of a folder every .jsonl is "
            "read)");
  EXPECT_EQ(refusal("{\"text\": 12}\n"), "in.jsonl:1: \"text\" must be a string, is number");
  EXPECT_EQ(refusal("{\"text\": null}\n"), "in.jsonl:1: \"text\" must be a string, is null");
  EXPECT_EQ(refusal("{\"text\": \"\", \"title\": []}\n"),
            "in.jsonl:1: \"title\" must be a string, is array");
  EXPECT_EQ(refusal("{\"text\": \"\", \"id\": 1.5}\n"),
            "in.jsonl:1: \"id\" must be a string, is number");
  EXPECT_EQ(refusal("{\"text\": \"\", \"group\": 3}\n"),
            "in.jsonl:1: \"group\" must be a string, is number");
  EXPECT_EQ(refusal(good + good), "in.jsonl:2: duplicate id \"a\"");
  EXPECT_EQ(refusal(good + "{\"text\": \"\xFF\"}\n"),
            "in.jsonl:2: not valid UTF-8 at byte 10 of the line");
  EXPECT_THAT(refusal(good + "{\"text\": \"\\ud800\"}\n"), HasSubstr("in.jsonl:2:"));
  EXPECT_EQ(refusal("{\"text\": \"\", \"x\": " + std::string(100'000, '[') + "\n"),
            "in.jsonl:1: JSON nested more than 1000 deep");
}

TEST_F(CorpusReader, BracketsInTextAreNoNesting) {
  const std::string brackets = "\\\"" + std::string(5000, '[');  // after an escaped quote
  EXPECT_EQ(read_lines("{\"text\": \"" + brackets + "\"}\n")[0].text, brackets.substr(1));
}

TEST_F(CorpusReader, ErrorsAboutTheWhole) {
  EXPECT_EQ(refusal(""), "in.jsonl: has no documents");
  EXPECT_EQ(refusal("\n \n"), "in.jsonl: has no documents");
  EXPECT_THAT(error_of([&] { read("nowhere.jsonl"); }), EndsWith("nowhere.jsonl: does not exist"));
  spill(scratch_ / "in.csv", "a,b\n");
  EXPECT_THAT(error_of([&] { read("in.csv"); }),
              EndsWith("in.csv: expected a .jsonl, .txt, .md or .html file (also .gz), or a folder "
                       "of such documents"));
  std::filesystem::create_directory(scratch_ / "empty");
  EXPECT_THAT(error_of([&] { read("empty"); }), EndsWith("empty: has no documents"));
  spill(scratch_ / "empty/bad.txt", "ab\xC3(");
  EXPECT_THAT(error_of([&] { read("empty"); }),
              EndsWith("bad.txt: not valid UTF-8 at byte 2 of the text"));
  std::filesystem::create_directory(scratch_ / "folder.jsonl");
  EXPECT_THAT(error_of([&] { read("folder.jsonl"); }), EndsWith("folder.jsonl: has no documents"));
}

}  // namespace
}  // namespace retro
