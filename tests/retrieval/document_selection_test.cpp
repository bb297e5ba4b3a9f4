#include "retro/retrieval/document_selection.h"

#include <string>

#include <gtest/gtest.h>

#include "life_test_support.h"

namespace retro {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::raw_document;

TEST(DocumentSelection, NumbersAreComparedToTheLastDigit) {
  testing::LivingDatabase living({{"s", "first", "some text"}});
  living.add({raw_document("a", "one", R"({"n":1152921504606846976})"),
              raw_document("b", "two", R"({"n":1152921504606846977})"),
              raw_document("c", "three", R"({"n":18446744073709551614})"),
              raw_document("d", "four", R"({"n":18446744073709551615})"),
              raw_document("e", "five", R"({"n":2.5})")});
  const RetrievalDatabase database(living.place().database);
  const auto ids_of = [&](const std::string& condition) {
    std::string ids;
    for (const int64_t d : select_documents(database, {.where = {condition}}, nullptr)) {
      ids += database.document(d).id;
    }
    return ids;
  };
  EXPECT_EQ(ids_of("n=1152921504606846977"), "b");
  EXPECT_EQ(ids_of("n<1152921504606846977"), "ae");
  EXPECT_EQ(ids_of("n=18446744073709551615"), "d");
  EXPECT_EQ(ids_of("n>=18446744073709551615"), "d");
  EXPECT_EQ(ids_of("n>3"), "abcd");
  EXPECT_EQ(ids_of("n=2.50"), "e");
  EXPECT_THAT(error_of([&] { ids_of("n==3"); }), HasSubstr("expected NAME OP VALUE"));
}

TEST(DocumentSelection, NothingSelectedNamesTheSourcesThatLive) {
  testing::LivingDatabase living({{"s", "first", "some text"}, {"t", "second", "more text"}});
  living.add({raw_document("a", "one", "{}")});
  living.remove("t", "second");
  const RetrievalDatabase database(living.place().database);
  EXPECT_NO_THROW(require_any(database, {0}));
  const std::string error = error_of([&] { require_any(database, {}); });
  EXPECT_TRUE(error.ends_with("no document matches; its sources are new, s")) << error;
}

}  // namespace
}  // namespace retro
