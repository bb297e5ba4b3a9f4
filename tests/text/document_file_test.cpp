// Folders of Markdown and HTML, and the text of pages.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "retro/text/corpus_reader.h"

#include "core/test_support.h"

namespace retro {
namespace {

using testing::ScratchDirectory;
using testing::spill;

std::vector<RawDocument> documents_of(const std::filesystem::path& path) {
  std::vector<RawDocument> documents;
  read_documents(path, [&](RawDocument&& document) { documents.push_back(std::move(document)); });
  return documents;
}

RawDocument page(const std::string& html) {
  const ScratchDirectory scratch;
  spill(scratch / "page.html", html);
  return documents_of(scratch / "page.html").front();
}

TEST(DocumentFile, AFolderHoldsTextMarkdownAndPages) {
  const ScratchDirectory scratch;
  std::filesystem::create_directories(scratch / "notes");
  spill(scratch / "notes/a.txt", "plain\n");
  spill(scratch / "notes/b.md", "intro\n```\n# no heading\n```\n## Real *title* ##\ntext\n");
  spill(scratch / "notes/c.html", "<title>A page</title><p>words</p>");
  spill(scratch / "notes/picture.png", "no text");  // left out
  const auto documents = documents_of(scratch / "notes");
  ASSERT_EQ(documents.size(), 3U);
  EXPECT_EQ(documents[0].title, "a.txt");
  EXPECT_EQ(documents[0].text, "plain\n");
  EXPECT_EQ(documents[1].id, "b.md");
  EXPECT_EQ(documents[1].title, "Real *title*");
  EXPECT_EQ(documents[1].text, "intro\n```\n# no heading\n```\n## Real *title* ##\ntext\n");
  EXPECT_EQ(documents[2].title, "A page");
  EXPECT_EQ(documents[2].text, "words\n");
}

TEST(DocumentFile, ASingleFileIsNamedByItsPath) {
  const ScratchDirectory scratch;
  spill(scratch / "a.md", "no heading");
  const auto documents = documents_of(scratch / "." / "a.md");
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(documents[0].id, (scratch / "a.md").string());
  EXPECT_EQ(documents[0].title, "a.md");
}

TEST(DocumentFile, BlocksBeginLinesAndSpaceCollapses) {
  const RawDocument document = page(
      "<!DOCTYPE html><html><head><title> My\n page </title><style>p{}</style></head>\n"
      "<body><h1>Head</h1>  <p>one <b>two</b>\n\n three<br>four</p><ul><li>x<li>y</ul>"
      "<pre>  a\n   b</pre></body></html>");
  EXPECT_EQ(document.title, "My page");
  EXPECT_EQ(document.text, "Head\none two three\nfour\nx\ny\n  a\n   b\n");
}

TEST(DocumentFile, ScriptsCommentsAndAttributesAreNoText) {
  EXPECT_EQ(page("a<script>if (1<2) x('</p>')</script>b<!-- c > d -->e<SVG><text>f</text></sVg>"
                 "<p title='>\"'>g</p>")
                .text,
            "abe\ng\n");
}

TEST(DocumentFile, ACommentThatIsNotClosedTakesNoTextAlong) {
  EXPECT_EQ(page("<p>a<!-->b").text, "ab\n");
  EXPECT_EQ(page("a<!-- never closed <p>b").text, "ab\n");
}

TEST(DocumentFile, CharacterReferences) {
  EXPECT_EQ(page("&lt;b&gt; &amp;amp; &#65;&#x2014;&mdash;&unknown; &#0; AT&T &#xD800;").text,
            "<b> &amp; A\u2014\u2014&unknown; \uFFFD AT&T \uFFFD\n");
}

// Latin-1 by its first and last name, and the other tables of HTML 4.
TEST(DocumentFile, AllNamesOfHtml4) {
  EXPECT_EQ(page("&iexcl;&eacute;&Uuml;&szlig;&yuml;&times;&frac12;").text,
            "\u00A1\u00E9\u00DC\u00DF\u00FF\u00D7\u00BD\n");
  EXPECT_EQ(page("&alpha;&Omega;&rarr;&le;&infin;&trade;&thetasym;&AElig;&zwnj;").text,
            "\u03B1\u03A9\u2192\u2264\u221E\u2122\u03D1\u00C6\u200C\n");
  EXPECT_EQ(page("a&nbsp;&#160;b").text, "a b\n");
}

// Pages that were written on Windows: HTML 5 reads these numbers so.
TEST(DocumentFile, NumbersOfWindowsCharacters) {
  EXPECT_EQ(page("don&#146;t &#x80;5 &#133;").text, "don\u2019t \u20AC5 \u2026\n");
}

TEST(DocumentFile, AHeadNeedNotBeClosed) {
  const RawDocument document = page("<head><title>T</title><p>Hello");
  EXPECT_EQ(document.title, "T");
  EXPECT_EQ(document.text, "Hello\n");
  EXPECT_EQ(page("<html><head><meta charset=utf-8><link rel=x>\nHello</html>").text, "Hello\n");
}

TEST(DocumentFile, ATitleHoldsNoTags) {
  EXPECT_EQ(page("<title>The <p> tag &amp; more</title>x").title, "The <p> tag & more");
  const RawDocument unclosed = page("<title>T<body><p>Hello");
  EXPECT_EQ(unclosed.title, "T");
  EXPECT_EQ(unclosed.text, "Hello\n");
}

TEST(DocumentFile, ElementsMayCloseThemselves) {
  EXPECT_EQ(page("a<svg width='1' />b<script src=x.js/>c").text, "abc\n");
  EXPECT_EQ(page("a<svg>never closed, b").text, "anever closed, b\n");
}

TEST(DocumentFile, CellsCaptionsAndOptionsBeginLines) {
  EXPECT_EQ(page("<table><caption>People</caption><tr><th>Name<th>Age<tr><td>Ann<td>7</table>"
                 "<details><summary>More</summary>text</details>"
                 "<select><option>one<option>two</select>")
                .text,
            "People\nName\nAge\nAnn\n7\nMore\ntext\none\ntwo\n");
}

TEST(DocumentFile, BrokenPagesGiveSomeText) {
  EXPECT_EQ(page("a < b <").text, "a < b <\n");
  EXPECT_EQ(page("x<p").text, "x\n");
  EXPECT_EQ(page("x<!-- never closed").text, "x\n");
  EXPECT_EQ(page("x<script>never closed").text, "x\n");
  EXPECT_EQ(page("x<a href='never closed>y").text, "x\n");
  EXPECT_EQ(page("x&").text, "x&\n");
  EXPECT_EQ(page("x</").text, "x</\n");
}

}  // namespace
}  // namespace retro
