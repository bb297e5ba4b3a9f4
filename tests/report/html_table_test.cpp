#include "retro/report/html_table.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retro {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HtmlTable, HeadsRowsAndColumnsAndKeepsTheOrderOfSorting) {
  HtmlTable table{
      "A & b", {"name", "<value>"}, {{text_cell("x<y"), number_cell(0.123456, 2)}}, true};
  const std::string html = to_html(table);
  EXPECT_THAT(html, HasSubstr("<caption>A &amp; b</caption>"));
  EXPECT_THAT(html, HasSubstr("<button type=button class=sort>&lt;value&gt;</button>"));
  EXPECT_THAT(html, HasSubstr("<th scope=row>x&lt;y</th><td data-order=\"0.123456\">0.12</td>"));
}

TEST(HtmlTable, WithoutSortingThereIsNoButton) {
  EXPECT_THAT(to_html({"a", {"b"}, {}, false}), Not(HasSubstr("button")));
}

TEST(HtmlTable, WhatIsNoNumberIsADash) {
  EXPECT_EQ(number_cell(NAN, 3).html, "–");
  EXPECT_EQ(number_cell(NAN, 3).order, "");
}

}  // namespace
}  // namespace retro
