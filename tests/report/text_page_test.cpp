#include "retro/report/text_page.h"

#include <cmath>

#include <gmock/gmock.h>

#include "report/run_directory.h"

namespace retro {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TextPageTest : public RunDirectory {
 protected:
  TextPageTest() {
    text_.title = "a <text>.txt";
    text_.model = "runs/mine";
    text_.num_tokens = 1234;
    text_.bits_per_byte_off = 2.0;
    text_.bits_per_byte_on = 1.5;
    text_.examples = Json::parse(R"({"examples": [{"source": "text", "document": "a", "title": "a",
      "chunk": 0, "overlap": null, "neighbours": [],
      "pieces": [{"text": "</script>", "run": 0, "nats_off": 2.5, "nats_on": 1.0}]}]})");
  }
  using Json = nlohmann::json;

  std::string html() {
    write_text_page(text_, directory_ / "page.html");
    return read_file(directory_ / "page.html");
  }
  TextPage text_;
};

TEST_F(TextPageTest, SaysWhatReadingChanged) {
  const std::string page = html();
  EXPECT_THAT(page, HasSubstr("<h1>a &lt;text&gt;.txt</h1>"));
  EXPECT_THAT(page, HasSubstr("<strong>25.0 % fewer bits</strong>"));
  EXPECT_THAT(page, HasSubstr("1.5000 instead of 2.0000 bits per byte"));
  EXPECT_THAT(page, HasSubstr("<b>1,234</b> tokens"));
  EXPECT_THAT(page, HasSubstr("<b>runs/mine</b>"));
}

TEST_F(TextPageTest, HoldsTheTextForTheReader) {
  const std::string page = html();
  EXPECT_THAT(page, HasSubstr("\"saved\":[1500]"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
}

TEST_F(TextPageTest, WorseAndWithoutRetrieval) {
  text_.bits_per_byte_on = 2.2;
  EXPECT_THAT(html(), HasSubstr("<strong>10.0 % more bits</strong>"));
  text_.bits_per_byte_on = NAN;
  EXPECT_THAT(html(), HasSubstr("Retrieval was off"));
}

}  // namespace
}  // namespace retro
