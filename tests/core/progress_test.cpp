#include "retro/core/progress.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>

#include "retro/core/log.h"

#include "core/test_support.h"

namespace retro {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ProgressLine, HalfWay) {
  const ProgressState state{.label = "embed",
                            .unit = "chunks",
                            .total = 5000,
                            .done = 2500,
                            .already_done = 0,
                            .elapsed_seconds = 10,
                            .detail = "loss 3.21"};
  EXPECT_EQ(progress_line(state, true),
            "embed  [##########..........]  50 %  2,500/5,000 chunks  250/s  10 s left  loss 3.21");
  EXPECT_EQ(progress_line(state, false),
            "embed  50 %  2,500/5,000 chunks  250/s  10 s left  loss 3.21");
}

// Resumed at 4,000: 500 were done in 10 s, so the last 500 take 10 s more.
TEST(ProgressLine, RateCountsOnlyThisProcess) {
  const ProgressState state{.label = "embed",
                            .unit = "chunks",
                            .total = 5000,
                            .done = 4500,
                            .already_done = 4000,
                            .elapsed_seconds = 10,
                            .detail = ""};
  EXPECT_EQ(progress_line(state, false), "embed  90 %  4,500/5,000 chunks  50/s  10 s left");
}

TEST(ProgressLine, EdgesOfTheRange) {
  ProgressState state{.label = "x",
                      .unit = "steps",
                      .total = 3,
                      .done = 0,
                      .already_done = 0,
                      .elapsed_seconds = 0,
                      .detail = ""};
  EXPECT_EQ(progress_line(state, true), "x  [....................]  0 %  0/3 steps");
  state.elapsed_seconds = 6;
  state.done = 3;
  EXPECT_EQ(progress_line(state, true), "x  [####################]  100 %  3/3 steps  0.5/s");
  state.done = 4;
  EXPECT_THAT(progress_line(state, true),
              StartsWith("x  [####################]  100 %  4/3 steps"));
  state.total = 0;
  EXPECT_EQ(progress_line(state, true), "x  4 steps  0.667/s") << "total unknown";
}

TEST(Format, Duration) {
  EXPECT_EQ(format_duration(0), "0 s");
  EXPECT_EQ(format_duration(12.4), "12 s");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(200), "3 min 20 s");
  EXPECT_EQ(format_duration(3720), "1 h 02 min");
  EXPECT_EQ(format_duration(86400 * 2 + 3 * 3600), "2 d 03 h");
  EXPECT_EQ(format_duration(-1), "?");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::quiet_NaN()), "?");
  EXPECT_NE(format_duration(std::numeric_limits<double>::infinity()), "");
}

TEST(Format, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.0 kB");
  EXPECT_EQ(format_bytes(9'949), "9.9 kB");
  EXPECT_EQ(format_bytes(9'960), "10 kB");
  EXPECT_EQ(format_bytes(312'000), "312 kB");
  EXPECT_EQ(format_bytes(999'600), "1.0 MB");
  EXPECT_EQ(format_bytes(1'400'000'000), "1.4 GB");
  EXPECT_EQ(format_bytes(std::numeric_limits<uint64_t>::max()), "18 EB");
}

TEST(Format, Count) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1'234'567), "1,234,567");
  EXPECT_EQ(format_count(-123), "-123");
  EXPECT_EQ(format_count(-1234), "-1,234");
  EXPECT_EQ(format_count(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

/// What `body` writes to standard error when that is no terminal.
template <class Body>
std::string plain_output(Body body) {
  ::testing::internal::CaptureStderr();
  body();
  return ::testing::internal::GetCapturedStderr();
}

/// What `body` writes to a terminal of 40 columns.
template <class Body>
std::string terminal_output(Body body) {
  int controller = -1;
  int terminal = -1;
  winsize size{.ws_row = 24, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
  if (::openpty(&controller, &terminal, nullptr, nullptr, &size) != 0)
    throw std::runtime_error("no terminal");
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(terminal, STDERR_FILENO);
  body();
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(terminal);
  std::string output;
  char letter = 0;
  while (::read(controller, &letter, 1) == 1) output += letter;
  ::close(controller);
  return output;
}

TEST(Progress, PlainOutputIsOneLineAtTheEnd) {
  const std::string output = plain_output([] {
    Progress progress("embed", 3, "chunks");
    for (int i = 1; i <= 3; ++i) progress.update(i);
    progress.finish("done well");
    progress.finish("twice");
  });
  EXPECT_EQ(output, "embed  3 chunks in 0 s  done well\n");
}

TEST(Progress, DestructorFinishes) {
  EXPECT_EQ(plain_output([] { Progress("embed", 3, "chunks").update(2); }),
            "embed  2 chunks in 0 s\n");
}

TEST(Progress, TerminalLineIsRewrittenAndCutToTheWidth) {
  const std::string output = terminal_output([] {
    Progress progress("embed", 1000, "chunks");
    progress.update(500, "a detail that does not fit into the line any more");
    progress.finish();
  });
  const std::string line = "embed  [##########..........]  50 %  500/1,000 chunks";
  EXPECT_EQ(output, "\r\x1b[K" + line.substr(0, 39) + "\r\x1b[Kembed  500 chunks in 0 s\r\n");
}

TEST(Progress, TerminalIsRewrittenAtMostTenTimesASecond) {
  const std::string output = terminal_output([] {
    Progress progress("embed", 100'000, "chunks");
    for (int i = 0; i < 1000; ++i) progress.update(i);
    progress.finish();
  });
  EXPECT_LT(std::count(output.begin(), output.end(), '\x1b'), 1000);
}

TEST(Progress, MessagesClearTheRewrittenLine) {
  const std::string output = terminal_output([] {
    Progress progress("e", 2, "c");
    progress.update(0);
    log_warning("careful");
    progress.finish();
  });
  EXPECT_EQ(
      output,
      "\r\x1b[Ke  [....................]  0 %  0/2 c\r\x1b[Kwarning: careful\r\ne  0 c in 0 s\r\n");
}

TEST(Progress, CutsBetweenCharacters) {
  const std::string output = terminal_output([] {
    Progress progress("ééééééééééééééééééééééééééééééééééééééééééééé", 0, "c");
    progress.update(0);
  });
  std::string expected = "\r\x1b[K";
  for (int i = 0; i < 39; ++i) expected += "é";
  EXPECT_THAT(output, StartsWith(expected + "\r"));
}

TEST(Log, InfoAndWarning) {
  EXPECT_EQ(plain_output([] {
              log_info("{} chunks", 3);
              log_warning("k is {}", 5);
            }),
            "3 chunks\nwarning: k is 5\n");
}

TEST(Log, QuietSilencesInformationAndProgress) {
  set_log_quiet(true);
  const std::string output = plain_output([] {
    log_info("information");
    log_warning("stays");
    Progress progress("embed", 3, "chunks");
    progress.update(1);
  });
  set_log_quiet(false);
  EXPECT_EQ(output, "warning: stays\n");
  EXPECT_EQ(plain_output([] { log_info("again"); }), "again\n");
}

}  // namespace
}  // namespace retro
