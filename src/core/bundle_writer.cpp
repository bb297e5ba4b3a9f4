// write_bundle: see bundle.h.
#include <algorithm>
#include <system_error>

#include "retro/core/bundle.h"
#include "retro/core/checked_json.h"
#include "retro/core/error.h"
#include "retro/core/file_system.h"
#include "retro/core/hash.h"
#include "retro/core/json.h"
#include "retro/core/progress.h"

#include "bundle_member.h"
#include "input_file.h"
#include "tar_header.h"

namespace retro {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kCopyBytes = uint64_t{1} << 20;

struct PackedSource {
  const BundleSource* source;
  uint64_t size_bytes;
  std::string hash;
};

PackedSource measure(const BundleSource& source) {
  if (source.file.empty()) return {&source, source.text.size(), hash_text(source.text)};
  return {&source, open_input(source.file).size_bytes, hash_file(source.file)};
}

std::string index_text(const std::vector<PackedSource>& sources) {
  auto members = nlohmann::json::array();
  for (const PackedSource& packed : sources) {
    members.push_back(
        {{"name", packed.source->name}, {"bytes", packed.size_bytes}, {"hash", packed.hash}});
  }
  return checked_json_text(
      {{"format", kBundleFormat}, {"format_version", kBundleVersion}, {"members", members}});
}

class Writer {
 public:
  Writer(const fs::path& path, uint64_t total)
      : file_(path), progress_("bundle", static_cast<int64_t>(total >> 20), "MiB") {}

  void add_text(std::string_view name, std::string_view text) {
    begin(name, text.size());
    write(std::as_bytes(std::span(text)));
    fill();
  }

  void add_file(const PackedSource& packed) {
    const fs::path& path = packed.source->file;
    begin(packed.source->name, packed.size_bytes);
    const InputFile input = open_input(path);
    std::vector<std::byte> buffer(static_cast<size_t>(std::min(kCopyBytes, packed.size_bytes)));
    Hasher hasher;
    for (uint64_t done = 0; done < packed.size_bytes;) {
      const auto part = std::span(buffer).first(
          static_cast<size_t>(std::min<uint64_t>(buffer.size(), packed.size_bytes - done)));
      read_exactly(input.file, input.offset + done, part, path);
      hasher.add_bytes(part);
      write(part);
      done += part.size();
    }
    RETRO_CHECK(input.size_bytes == packed.size_bytes && hasher.hex() == packed.hash,
                "{}: changed while it was packed; try again", path.string());
    fill();
  }

  void finish() {
    const std::vector<std::byte> zeros(kTarEndBytes);
    write(zeros);
    file_.commit();
    progress_.finish();
  }

 private:
  void begin(std::string_view name, uint64_t size_bytes) { write(tar_header(name, size_bytes)); }
  void fill() {
    const std::vector<std::byte> zeros(
        static_cast<size_t>(tar_padded(file_.size_bytes()) - file_.size_bytes()));
    write(zeros);
  }
  void write(std::span<const std::byte> bytes) {
    file_.write(bytes);
    progress_.update(static_cast<int64_t>(file_.size_bytes() >> 20));
  }

  AtomicFile file_;
  Progress progress_;
};

}  // namespace

void write_bundle(const fs::path& path, const std::vector<BundleSource>& sources) {
  std::error_code ignored;
  RETRO_CHECK(!fs::exists(path, ignored) || is_bundle(path),
              "{}: is there already and is no bundle; name another file", path.string());
  std::vector<PackedSource> packed;
  for (const BundleSource& source : sources) packed.push_back(measure(source));
  const std::string index = index_text(packed);
  uint64_t total = kTarBlockBytes + tar_padded(index.size()) + kTarEndBytes;
  for (const PackedSource& source : packed) total += kTarBlockBytes + tar_padded(source.size_bytes);
  require_free_disk(fs::absolute(path).parent_path(), total, "the bundle");
  Writer writer(path, total);
  writer.add_text(kBundleIndex, index);
  for (const PackedSource& source : packed) {
    if (source.source->file.empty()) {
      writer.add_text(source.source->name, source.source->text);
    } else {
      writer.add_file(source);
    }
  }
  writer.finish();
}

}  // namespace retro
