// Longest common runs of chunks with their neighbours: ours beside the plain quadratic program, in
// one run.
//   overlap_benchmark RUN/corpus [CHUNKS 100000] [NEIGHBOURS 10] [THREADS 2]
// Real chunks of 64 tokens (a small corpus is read several times); each is compared with values of
// 128 tokens: for the first of them the chunk's own text moved by a few tokens, for the others
// other places of the corpus, so that no comparison ends early. One JSON line.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "retro/core/error.h"
#include "retro/core/parallel.h"
#include "retro/core/random.h"
#include "retro/text/longest_run.h"
#include "retro/text/token_corpus.h"

namespace {

constexpr int64_t kChunk = 64;
constexpr int64_t kValue = 128;

struct Work {
  std::vector<int32_t> tokens;
  std::vector<int64_t> chunks;  ///< first token of each
  std::vector<int64_t> values;  ///< first token of each chunk's neighbours
  int64_t neighbours = 0;
};

Work make_work(const std::string& directory, int64_t num_chunks, int64_t neighbours) {
  const retro::TokenCorpus corpus(directory);
  Work work;
  work.neighbours = neighbours;
  for (int64_t d = 0; d < corpus.num_documents(); ++d) {
    const auto tokens = corpus.tokens(d);
    work.tokens.insert(work.tokens.end(), tokens.begin(), tokens.end());
  }
  const auto total = static_cast<int64_t>(work.tokens.size());
  RETRO_CHECK(total > 1000, "{}: {} tokens are too few", directory, total);
  retro::RandomStream random(1, "overlap benchmark");
  for (int64_t c = 0; c < num_chunks; ++c) {
    const int64_t begin = c * kChunk % (total - kValue - kChunk) / kChunk * kChunk;
    work.chunks.push_back(begin);
    work.values.push_back(
        std::max<int64_t>(0, begin + static_cast<int64_t>(random.below(64)) - 32));
    for (int64_t k = 1; k < neighbours; ++k)
      work.values.push_back(
          static_cast<int64_t>(random.below(static_cast<uint64_t>(total - kValue))));
  }
  return work;
}

std::span<const int32_t> tokens_at(const Work& work, int64_t begin, int64_t length) {
  return std::span(work.tokens).subspan(static_cast<size_t>(begin), static_cast<size_t>(length));
}

/// The textbook program: runs[i][j] = runs[i-1][j-1] + 1 where the tokens are equal.
int64_t plain_longest_run(std::span<const int32_t> chunk, std::span<const int32_t> value) {
  std::vector<int64_t> previous(value.size() + 1, 0);
  std::vector<int64_t> runs(value.size() + 1, 0);
  int64_t longest = 0;
  for (const int32_t token : chunk) {
    for (size_t j = 0; j < value.size(); ++j) {
      runs[j + 1] = token == value[j] ? previous[j] + 1 : 0;
      longest = std::max(longest, runs[j + 1]);
    }
    std::swap(previous, runs);
  }
  return longest;
}

struct Times {
  double seconds = 0;
  double cpu_seconds = 0;  ///< of all threads: what counts on a machine with other work
};

/// `make_longest_of` gives each block of chunks a function of its own.
template <class MakeLongestOf>
Times measure(const Work& work, int num_threads, std::vector<int64_t>& longest,
              MakeLongestOf&& make_longest_of) {
  longest.assign(work.chunks.size(), 0);
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  const auto body = [&](int64_t begin, int64_t end) {
    auto longest_of = make_longest_of();
    for (int64_t c = begin; c < end; ++c) longest[static_cast<size_t>(c)] = longest_of(c);
  };
  retro::parallel_for(static_cast<int64_t>(work.chunks.size()), num_threads, body);
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC};
}

std::span<const int32_t> value_of(const Work& work, int64_t chunk, int64_t rank) {
  return tokens_at(work, work.values[static_cast<size_t>(chunk * work.neighbours + rank)], kValue);
}

int run(const std::vector<std::string>& arguments) {
  RETRO_CHECK(!arguments.empty(),
              "usage: overlap_benchmark RUN/corpus [CHUNKS] [NEIGHBOURS] [THREADS]");
  const auto number = [&](size_t i, int64_t fallback) {
    return arguments.size() > i ? std::stol(arguments[i]) : fallback;
  };
  const Work work = make_work(arguments[0], number(1, 100'000), number(2, 10));
  const auto num_threads = static_cast<int>(number(3, 2));
  std::vector<int64_t> ours;
  std::vector<int64_t> plain;
  const Times times = measure(work, num_threads, ours, [&] {
    return [&, longest_run = std::make_unique<retro::LongestRun>()](int64_t c) {
      longest_run->set_chunk(tokens_at(work, work.chunks[static_cast<size_t>(c)], kChunk));
      int64_t longest = 0;
      for (int64_t rank = 0; rank < work.neighbours; ++rank)
        longest = longest_run->extend(value_of(work, c, rank), longest);
      return longest;
    };
  });
  const Times plain_times = measure(work, num_threads, plain, [&] {
    return [&](int64_t c) {
      int64_t longest = 0;
      for (int64_t rank = 0; rank < work.neighbours; ++rank) {
        const auto chunk = tokens_at(work, work.chunks[static_cast<size_t>(c)], kChunk);
        longest = std::max(longest, plain_longest_run(chunk, value_of(work, c, rank)));
      }
      return longest;
    };
  });
  fmt::print(
      "{{\"subject\": \"overlap\", \"chunks\": {}, \"neighbours\": {}, \"threads\": {}, "
      "\"seconds\": {:.3f}, \"cpu_seconds\": {:.3f}, \"plain_seconds\": {:.3f}, "
      "\"plain_cpu_seconds\": {:.3f}, \"times_faster\": {:.2f}, \"equal\": {}}}\n",
      work.chunks.size(), work.neighbours, num_threads, times.seconds, times.cpu_seconds,
      plain_times.seconds, plain_times.cpu_seconds, plain_times.cpu_seconds / times.cpu_seconds,
      ours == plain);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const retro::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return EXIT_FAILURE;
  }
}
