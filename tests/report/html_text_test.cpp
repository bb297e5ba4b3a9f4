#include "retro/report/html_text.h"

#include <gtest/gtest.h>

namespace retro {
namespace {

TEST(HtmlText, EscapesWhatHtmlReads) {
  EXPECT_EQ(escape_html("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
}

TEST(HtmlText, JsonCannotEndItsScriptElement) {
  const std::string safe = escape_script_json(R"({"text":"</script><!-- x"})");
  EXPECT_EQ(safe, R"({"text":"\u003c/script>\u003c!-- x"})");
}

}  // namespace
}  // namespace retro
