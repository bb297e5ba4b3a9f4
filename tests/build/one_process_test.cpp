// LibTorch, FAISS and SentencePiece in one process: one OpenMP runtime, two BLAS that do not mix,
// no protobuf clash.
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <faiss/VectorTransform.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

namespace {

// Files mapped into this process whose name contains `part`.
std::set<std::string> mapped_files(const std::string& part) {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path != std::string::npos && line.find(part, path) != std::string::npos) {
      files.insert(std::filesystem::canonical(line.substr(path)).string());
    }
  }
  return files;
}

std::string library_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fname : "";
}

// Calls into each library, so that none is dropped by the linker.
void use_all_libraries() {
  EXPECT_EQ(at::ones({3, 3}).mm(at::ones({3, 3})).sum().item<float>(), 27.0F);
  faiss::PCAMatrix pca(4, 2);
  EXPECT_FALSE(pca.is_trained);
  sentencepiece::SentencePieceProcessor processor;
  EXPECT_FALSE(processor.Load("/nonexistent").ok());
}

TEST(OneProcess, HasOneOpenMpRuntimeAndItIsTheSystems) {
  use_all_libraries();
  const std::set<std::string> gnu = mapped_files("libgomp");
  ASSERT_EQ(gnu.size(), 1U);
  EXPECT_EQ(gnu.begin()->find(RETRO_DEPS_DIR), std::string::npos) << *gnu.begin();
  EXPECT_TRUE(mapped_files("libiomp").empty());
  EXPECT_TRUE(mapped_files("libomp.so").empty());
}

TEST(OneProcess, TheOpenMpThreadCountIsSharedWithTorch) {
  const int before = omp_get_max_threads();
  at::set_num_threads(before + 1);
  EXPECT_EQ(omp_get_max_threads(), before + 1);
  at::set_num_threads(before);
}

// at::parallel_for is an inline template: serial in a file that is compiled without OpenMP.
TEST(OneProcess, TorchIsCompiledForParallelLoops) {
  at::set_num_threads(2);
  std::vector<int> threads(2, 0);
  at::parallel_for(0, 2, 1, [&](int64_t begin, int64_t) {
    threads[static_cast<size_t>(begin)] = omp_get_num_threads();
  });
  EXPECT_EQ(threads[0], 2);
  EXPECT_EQ(threads[1], 2);
}

TEST(OneProcess, FaissExportsNoBlas) {
  use_all_libraries();
  for (const char* name : {"sgemm_", "ssyrk_", "sgeqrf_", "dgesvd_", "cblas_sgemm"}) {
    const void* symbol = dlsym(RTLD_DEFAULT, name);
    EXPECT_EQ(library_of(symbol).find("libfaiss"), std::string::npos) << name;
  }
  EXPECT_TRUE(mapped_files("libopenblas").empty());
  EXPECT_TRUE(mapped_files("libblas").empty());
}

TEST(OneProcess, SentencePieceTrainsAndTorchStillWorks) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("retro_one_process_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream text(folder / "text");
  for (int i = 0; i < 200; ++i) text << "the cat number " << i << " sat on the mat\n";
  text.close();
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      "--input=" + (folder / "text").string() + " --model_prefix=" + (folder / "model").string() +
      " --vocab_size=60 --hard_vocab_limit=false --minloglevel=2");
  ASSERT_TRUE(status.ok()) << status.ToString();
  sentencepiece::SentencePieceProcessor processor;
  ASSERT_TRUE(processor.Load((folder / "model.model").string()).ok());
  std::vector<int> ids;
  std::string back;
  ASSERT_TRUE(processor.Encode("the cat sat", &ids).ok());
  ASSERT_TRUE(processor.Decode(ids, &back).ok());
  EXPECT_EQ(back, "the cat sat");
  use_all_libraries();
  std::filesystem::remove_all(folder);
}

}  // namespace
