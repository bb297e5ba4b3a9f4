#include "retro/core/safetensors.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace retro {
namespace {

using testing::damaged_at;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::error_of;
using ::testing::HasSubstr;
using testing::slurp;
using testing::spill;
using ::testing::StartsWith;

/// Length, header, data, as the format lays them out.
std::string file_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + data;
}

template <class T>
TensorView view_of(const std::string& dtype, std::vector<int64_t> shape,
                   const std::vector<T>& values) {
  return {dtype, std::move(shape), std::as_bytes(std::span(values))};
}

class Safetensors : public ::testing::Test {
 protected:
  std::string refusal(const std::string& header, const std::string& data = "") {
    spill(scratch_ / "f", file_of(header, data));
    return refusal_of_file();
  }
  std::string refusal_of_file() {
    const std::string path = (scratch_ / "f").string();
    const std::string message = error_of([&] { SafetensorsReader reader(path); });
    EXPECT_THAT(message, StartsWith(path + ": "));
    return message.substr(std::min(message.size(), path.size() + 2));
  }
  testing::ScratchDirectory scratch_;
};

// What the Python package writes for b = [1, 2, 3] (int64), a = [[1.5, -2]] (float32), h = [0.5]
// (float16).
const std::string kPythonHeader =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[3],"data_offsets":[0,24]},)"
    R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[24,32]},"h":{"dtype":"F16","shape":[1],"data_offsets":[32,34]}}  )";
const std::string kPythonData(
    "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\xc0?\0\0\0\xc0\0008", 34);

TEST_F(Safetensors, ReadsWhatPythonWrites) {
  ASSERT_EQ(kPythonHeader.size(), 0xc8U);
  spill(scratch_ / "f", file_of(kPythonHeader, kPythonData));
  const SafetensorsReader reader(scratch_ / "f");
  EXPECT_EQ(reader.tensors().size(), 3U);
  EXPECT_EQ(reader.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  EXPECT_EQ(reader.tensor("a").dtype, "F32");
  EXPECT_THAT(reader.tensor("a").shape, ElementsAre(1, 2));
  EXPECT_THAT(to_float32(reader.tensor("a")), ElementsAre(1.5f, -2.0f));
  EXPECT_THAT(to_int64(reader.tensor("b")), ElementsAre(1, 2, 3));
  EXPECT_THAT(to_float64(reader.tensor("h")), ElementsAre(0.5));
}

TEST_F(Safetensors, WritesTheFormatByteForByte) {
  const std::vector<float> a{1.5f, -2.0f};
  const std::vector<uint8_t> c{7};
  const std::vector<int64_t> b{3};
  write_safetensors(scratch_ / "f",
                    {{"a", view_of("F32", {1, 2}, a)},
                     {"b", view_of("I64", {}, b)},
                     {"0", view_of("U8", {1}, c)}},
                    {{"k", "v"}});
  // Wide types first, so that each is aligned; the header is padded with spaces to 8 bytes.
  std::string header =
      R"({"0":{"data_offsets":[16,17],"dtype":"U8","shape":[1]},"__metadata__":{"k":"v"},)"
      R"("a":{"data_offsets":[8,16],"dtype":"F32","shape":[1,2]},"b":{"data_offsets":[0,8],"dtype":"I64","shape":[]}})";
  while (header.size() % 8 != 0) header += ' ';
  EXPECT_EQ(slurp(scratch_ / "f"),
            file_of(header, std::string("\3\0\0\0\0\0\0\0\0\0\xc0?\0\0\0\xc0\7", 17)));
}

TEST_F(Safetensors, EmptyFileAndEmptyTensor) {
  write_safetensors(scratch_ / "f", {});
  EXPECT_TRUE(SafetensorsReader(scratch_ / "f").tensors().empty());
  write_safetensors(scratch_ / "f", {{"e", {"F32", {4, 0, 2}, {}}}});
  const SafetensorsReader reader(scratch_ / "f");
  EXPECT_EQ(reader.tensor("e").num_elements(), 0);
  EXPECT_TRUE(to_float32(reader.tensor("e")).empty());
}

TEST_F(Safetensors, MissingTensorNamesTheNearest) {
  spill(scratch_ / "f",
        file_of(R"({"decoder.norm.weight":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"));
  const SafetensorsReader reader(scratch_ / "f");
  EXPECT_TRUE(reader.contains("decoder.norm.weight"));
  EXPECT_FALSE(reader.contains("decoder.norm.weigth"));
  EXPECT_EQ(error_of([&] { reader.tensor("decoder.norm.weigth"); }),
            (scratch_ / "f").string() +
                ": no tensor `decoder.norm.weigth`; the nearest is `decoder.norm.weight`");
  EXPECT_THAT(error_of([&] { reader.tensor("quite.other"); }), EndsWith("no tensor `quite.other`"));
}

TEST_F(Safetensors, WriterRefusals) {
  const std::vector<float> values{1, 2};
  const auto path = scratch_ / "f";
  EXPECT_THAT(error_of([&] {
                write_safetensors(path, {{"a", view_of("F32", {3}, values)}});
              }),
              HasSubstr("tensor `a` of 3 elements of F32 has 8 bytes"));
  EXPECT_THAT(error_of([&] {
                write_safetensors(path, {{"a", view_of("F33", {2}, values)}});
              }),
              HasSubstr("F33"));
  EXPECT_THAT(error_of([&] {
                write_safetensors(path, {{"a", view_of("F32", {-1, -2}, values)}});
              }),
              HasSubstr("tensor `a`"));
  EXPECT_THAT(error_of([&] {
                write_safetensors(path, {{"__metadata__", view_of("F32", {2}, values)}});
              }),
              HasSubstr("__metadata__"));
  EXPECT_THAT(error_of([&] {
                write_safetensors(path, {{"\xff", view_of("F32", {2}, values)}});
              }),
              HasSubstr("UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Safetensors, ForeignFilesAreRefused) {
  EXPECT_EQ(refusal("[]"), "the header is not a JSON object");
  EXPECT_EQ(refusal("{"), "the header is not JSON");
  EXPECT_EQ(refusal("{} x"), "the header is not JSON");
  EXPECT_EQ(refusal("{}", "xy"), "2 bytes after the last tensor");
  EXPECT_EQ(refusal(R"({"__metadata__":[]})"), "`__metadata__` is not an object");
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":1}})"), "`__metadata__`: `a` is not text");
  spill(scratch_ / "f", "PK\x03\x04 a zip file, say of an older checkpoint");
  EXPECT_THAT(refusal_of_file(), StartsWith("not a safetensors file"));
  spill(scratch_ / "f", "");
  EXPECT_EQ(refusal_of_file(), "truncated: 0 bytes");
}

TEST_F(Safetensors, EntriesAreChecked) {
  const auto entry = [](const std::string& fields) { return R"({"t":)" + fields + "}"; };
  EXPECT_EQ(refusal(entry("3")), "tensor `t` has no `shape`");
  EXPECT_EQ(refusal(entry(R"({"dtype":"U8","data_offsets":[0,0]})")), "tensor `t` has no `shape`");
  EXPECT_EQ(refusal(entry(R"({"dtype":"U8","shape":[0]})")), "tensor `t` has no `data_offsets`");
  EXPECT_EQ(refusal(entry(R"({"shape":[0],"data_offsets":[0,0]})")), "tensor `t` has no `dtype`");
  EXPECT_EQ(refusal(entry(R"({"dtype":8,"shape":[0],"data_offsets":[0,0]})")),
            "tensor `t` has no `dtype`");
  EXPECT_EQ(refusal(entry(R"({"dtype":"Q7","shape":[0],"data_offsets":[0,0]})")),
            "tensor type `Q7` is unknown");
  EXPECT_EQ(refusal(entry(R"({"dtype":"U8","shape":[-1],"data_offsets":[0,0]})")),
            "tensor `t`: bad number in `shape`");
  EXPECT_EQ(refusal(entry(R"({"dtype":"U8","shape":[1.0],"data_offsets":[0,1]})"), "x"),
            "tensor `t`: bad number in `shape`");
  EXPECT_EQ(refusal(entry(R"({"dtype":"U8","shape":[1],"data_offsets":[1,0]})"), "x"),
            "tensor `t`: bad `data_offsets`");
  EXPECT_EQ(refusal(entry(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1,2]})"), "x"),
            "tensor `t`: bad `data_offsets`");
  EXPECT_EQ(refusal(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"), "xxxx"),
            "tensor `t`: 4 bytes of data, its shape needs 8");
}

TEST_F(Safetensors, RangesAreChecked) {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(refusal(two("[0,2]", "[1,3]"), "xxx"), "tensor `b` overlaps another");
  EXPECT_EQ(refusal(two("[0,2]", "[0,2]"), "xx"), "tensor `b` overlaps another");
  EXPECT_EQ(refusal(two("[0,2]", "[3,5]"), "xxxxx"), "unused bytes before tensor `b`");
  EXPECT_EQ(refusal(two("[0,2]", "[2,4]"), "xxx"),
            "truncated: tensor `b` ends at byte 4 of the data, which has 3");
  EXPECT_EQ(refusal(two("[0,2]", "[2,4]"), "xxxxx"), "1 bytes after the last tensor");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                    R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                    "x"),
            "tensor `a` stands twice in the header");
}

// Products that wrap around 64 bits to something small must not pass.
TEST_F(Safetensors, OverflowingShapesAreRefused) {
  const auto shaped = [](const std::string& shape) {
    return R"({"t":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,0]}})";
  };
  EXPECT_EQ(refusal(shaped("[4294967296,4294967296]")), "tensor `t`: its shape is too large");
  EXPECT_EQ(refusal(shaped("[4611686018427387904]")), "tensor `t`: its shape is too large");
  EXPECT_EQ(refusal(shaped("[18446744073709551615,0]")), "tensor `t`: its shape is too large");
  EXPECT_EQ(refusal(shaped("[18446744073709551616]")), "tensor `t`: bad number in `shape`");
}

TEST_F(Safetensors, HeaderLengthIsChecked) {
  std::string file = file_of("{}", "");
  for (const uint64_t length :
       {uint64_t{3}, uint64_t{1} << 40, std::numeric_limits<uint64_t>::max()}) {
    std::memcpy(file.data(), &length, sizeof length);
    spill(scratch_ / "f", file);
    EXPECT_NE(refusal_of_file(), "");
  }
}

TEST_F(Safetensors, DeeplyNestedHeadersDoNotExhaustTheStack) {
  EXPECT_EQ(refusal(std::string(200'000, '[')), "the header is not JSON");
  EXPECT_EQ(refusal(R"({"t":)" + std::string(200'000, '[') + std::string(200'000, ']') + "}"),
            "tensor `t` has no `shape`");
}

TEST_F(Safetensors, EveryTruncationIsRefused) {
  const std::string bytes = file_of(kPythonHeader, kPythonData);
  for (size_t size = 0; size < bytes.size(); ++size) {
    spill(scratch_ / "f", bytes.substr(0, size));
    EXPECT_NE(refusal_of_file(), "") << size;
  }
}

/// Every tensor lies inside the data, holds what its shape says, and together they cover it.
void expect_consistent(const SafetensorsReader& reader) {
  size_t total = 0;
  for (const auto& [name, view] : reader.tensors()) {
    total += view.bytes.size();
    const auto elements = static_cast<uint64_t>(view.num_elements());
    EXPECT_EQ(elements * safetensors_dtype_size(view.dtype), view.bytes.size());
    const std::string copy(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
    EXPECT_NE(kPythonData.find(copy), std::string::npos);
  }
  EXPECT_EQ(total, kPythonData.size());
}

// The format has no checksum: a damaged byte may give another valid name or text. What opens must
// be consistent.
TEST_F(Safetensors, DamagedBytesNeverLeadOutsideTheFile) {
  const std::string bytes = file_of(kPythonHeader, kPythonData);
  int num_refused = 0;
  for (size_t i = 0; i < 8 + kPythonHeader.size(); ++i) {
    for (const std::string& damaged : damaged_at(bytes, i)) {
      spill(scratch_ / "f", damaged);
      try {
        expect_consistent(SafetensorsReader(scratch_ / "f"));
      } catch (const Error&) {
        ++num_refused;
      }
    }
  }
  EXPECT_GT(num_refused, 2 * 150) << "most of the header is structure";
}

TEST_F(Safetensors, ConversionsOfEveryType) {
  const std::vector<uint16_t> bfloat{0x3f80, 0xc040};
  EXPECT_THAT(to_float32(view_of("BF16", {2}, bfloat)), ElementsAre(1.0f, -3.0f));
  const std::vector<uint16_t> half{0x3c00, 0xc200};
  EXPECT_THAT(to_float32(view_of("F16", {2}, half)), ElementsAre(1.0f, -3.0f));
  const std::vector<double> wide{1.0 / 3};
  EXPECT_THAT(to_float64(view_of("F64", {1}, wide)), ElementsAre(1.0 / 3));
  EXPECT_THAT(to_float32(view_of("F64", {1}, wide)), ElementsAre(static_cast<float>(1.0 / 3)));
  const std::vector<int8_t> bytes{-1, 2};
  EXPECT_THAT(to_int64(view_of("I8", {2}, bytes)), ElementsAre(-1, 2));
  EXPECT_THAT(to_int64(view_of("U8", {2}, bytes)), ElementsAre(255, 2));
  EXPECT_THAT(to_int64(view_of("BOOL", {1}, std::vector<uint8_t>{1})), ElementsAre(1));
  EXPECT_THAT(to_int64(view_of("I32", {1}, std::vector<int32_t>{-7})), ElementsAre(-7));
  EXPECT_THAT(to_int64(view_of("U32", {1}, std::vector<uint32_t>{0xffffffff})),
              ElementsAre(4294967295));
  EXPECT_THAT(to_int64(view_of("I16", {1}, std::vector<int16_t>{-7})), ElementsAre(-7));
  EXPECT_THAT(to_int64(view_of("U16", {1}, std::vector<uint16_t>{65535})), ElementsAre(65535));
  EXPECT_THAT(to_int64(view_of("U64", {1}, std::vector<uint64_t>{5})), ElementsAre(5));
  EXPECT_NE(
      error_of([] { to_int64(view_of("U64", {1}, std::vector<uint64_t>{uint64_t{1} << 63})); }),
      "");
  EXPECT_THAT(error_of([] { to_int64(view_of("F32", {1}, std::vector<float>{1})); }),
              HasSubstr("found F32"));
  EXPECT_THAT(error_of([] { to_float32(view_of("I64", {1}, std::vector<int64_t>{1})); }),
              HasSubstr("found I64"));
}

// Other writers may put an F32 tensor behind a single byte.
TEST_F(Safetensors, UnalignedTensorsConvert) {
  spill(scratch_ / "f", file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                R"("b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
                                std::string("x\0\0\xc0?", 5)));
  const SafetensorsReader reader(scratch_ / "f");
  EXPECT_THAT(to_float32(reader.tensor("b")), ElementsAre(1.5f));
}

}  // namespace
}  // namespace retro
