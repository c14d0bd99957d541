#include "io/formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;

template <class T>
TensorView view(compiler::DType dtype, compiler::Dims dims, const std::vector<T>& values) {
  return {{dtype, std::move(dims)}, std::as_bytes(std::span(values))};
}

// Returns a file with this header and data.
std::string file_with(std::string_view header, std::string_view data) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return str(bytes, header, data);
}

std::string refusal(std::string bytes) {
  try {
    const SafetensorsFile file(std::move(bytes), "a.safetensors");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

const std::vector<float> kFloats{1.5F, -2.0F, 0.0F, 4.0F, 8.0F, 1e30F};
const std::vector<std::int64_t> kIntegers{-1, std::int64_t{1} << 40};
const std::vector<std::uint8_t> kFlags{1, 0, 1};

TensorMap small_tensors() {
  return {{"flags", view(compiler::DType::pred, {3}, kFlags)},
          {"w", view(compiler::DType::f32, {2, 3}, kFloats)},
          {"none", {{compiler::DType::f32, {0, 4}}, {}}},
          {"step", view(compiler::DType::s64, {2}, kIntegers)},
          {"scalar", {{compiler::DType::u8, {}}, std::as_bytes(std::span(kFlags).first(1))}}};
}

TEST(Safetensors, RoundTripsTensors) {
  const SafetensorsFile file(
      safetensors_bytes(small_tensors(), {{"format", "pt"}, {"by", "smelt"}}), "x");
  ASSERT_EQ(file.tensors().size(), 5);
  EXPECT_EQ(file.at("w").shape, (compiler::Shape{compiler::DType::f32, {2, 3}}));
  EXPECT_EQ(tensor_values<float>(file.at("w")), kFloats);
  EXPECT_EQ(tensor_values<std::int64_t>(file.at("step")), kIntegers);
  EXPECT_EQ(tensor_values<std::uint8_t>(file.at("flags")), kFlags);
  EXPECT_EQ(file.at("none").shape, (compiler::Shape{compiler::DType::f32, {0, 4}}));
  EXPECT_EQ(file.at("scalar").shape, (compiler::Shape{compiler::DType::u8, {}}));
  EXPECT_EQ(file.metadata(), (Metadata{{"by", "smelt"}, {"format", "pt"}}));
}

TEST(Safetensors, HasTheDocumentedLayout) {
  const std::vector<std::uint8_t> byte{7};
  EXPECT_EQ(safetensors_bytes({{"a", view(compiler::DType::u8, {1}, byte)}}),
            file_with(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   )", "\x07"));
  EXPECT_EQ(safetensors_bytes({}), file_with("{}      ", ""));
}

TEST(Safetensors, AlignsTensorsToTheirElementSize) {
  const std::string bytes = safetensors_bytes(small_tensors());
  const SafetensorsFile file(bytes, "x");
  const auto* start = file.at("step").data.data();  // 8 bytes wide: it comes first
  for (const auto& [name, tensor] : file.tensors())
    EXPECT_EQ((tensor.data.data() - start) % compiler::dtype_size_bytes(tensor.shape.dtype), 0)
        << name;
}

TEST(Safetensors, ReproducesAFileOfTheOfficialWriter) {
  const std::string official = read_file(source_path("tests/golden/bert_tiny.safetensors"));
  const SafetensorsFile file(official, "bert_tiny.safetensors");
  EXPECT_EQ(file.at("param/bert/embeddings/word_embeddings").shape,
            (compiler::Shape{compiler::DType::f32, {99, 32}}));
  EXPECT_EQ(file.at("input/0/input_ids").shape, (compiler::Shape{compiler::DType::s32, {4, 24}}));
  EXPECT_TRUE(safetensors_bytes(file.tensors(), file.metadata()) == official);
}

TEST(Safetensors, OfficialReaderReadsEveryDtype) {
  REQUIRE_ORACLE();
  const std::vector<std::uint16_t> halves{0x3f80, 0x4000};  // 1 and 2 in bf16; 1.875 and 2 in f16
  const std::vector<double> doubles{0.25};
  const std::vector<std::uint32_t> words{4000000000U};
  const std::vector<std::uint64_t> longs{std::uint64_t{1} << 63};
  const std::vector<std::int8_t> codes{-128, 127, -1, 0};
  TensorMap tensors = small_tensors();
  tensors["b"] = view(compiler::DType::bf16, {1, 2}, halves);
  tensors["h"] = view(compiler::DType::f16, {2}, halves);
  tensors["u"] = view(compiler::DType::u16, {2}, halves);
  tensors["d"] = view(compiler::DType::f64, {1}, doubles);
  tensors["\u00e9 \"quoted\""] = view(compiler::DType::u32, {1}, words);
  tensors["codes"] = view(compiler::DType::s8, {2, 2}, codes);
  tensors["long"] = view(compiler::DType::u64, {1}, longs);
  const TempDir dir;
  const std::string bytes = safetensors_bytes(tensors, {{"format", "pt"}});
  write_file(dir.file("ours"), bytes);
  const auto result = run_oracle(str(source_path("tests/io/formats/safetensors_roundtrip.py"), " ",
                                     dir.file("ours"), " ", dir.file("theirs")));
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("b bfloat16 [1, 2] sum 3\n"));
  EXPECT_THAT(result.text, HasSubstr("codes int8 [2, 2] sum -2\n"));
  EXPECT_THAT(result.text, HasSubstr("d float64 [1] sum 0.25\n"));
  EXPECT_THAT(result.text, HasSubstr("flags bool [3] sum 2\n"));
  EXPECT_THAT(result.text, HasSubstr("h float16 [2] sum 3.875\n"));
  EXPECT_THAT(result.text, HasSubstr("long uint64 [1] sum 9.22337e+18\n"));
  EXPECT_THAT(result.text, HasSubstr("none float32 [0, 4] sum 0\n"));
  EXPECT_THAT(result.text, HasSubstr("step int64 [2] sum 1.09951e+12\n"));
  EXPECT_TRUE(read_file(dir.file("theirs")) == bytes) << "the official writer orders differently";
}

TEST(Safetensors, RejectsEveryTruncation) {
  const std::string bytes = safetensors_bytes(small_tensors());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THAT(refusal(bytes.substr(0, size)), HasSubstr("a.safetensors: ")) << size;
  EXPECT_THAT(refusal(bytes.substr(0, 5)), HasSubstr("truncated: 5 bytes"));
  EXPECT_THAT(refusal(bytes.substr(0, 20)), HasSubstr("only 12 follow its length"));
  EXPECT_THAT(refusal(bytes + "x"),
              HasSubstr("the tensors end at byte 44 of the data, which has 45 bytes"));
}

TEST(Safetensors, RejectsOrSurvivesEveryCorruptedHeaderByte) {
  const std::string bytes = safetensors_bytes(small_tensors(), {{"format", "pt"}});
  const std::size_t header = bytes.size() - 44;
  std::size_t refused = 0;
  for (std::size_t at = 0; at < header; ++at) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      try {
        const SafetensorsFile file(damaged, "x");
        for (const auto& [name, tensor] : file.tensors())  // every view is readable to its end
          ASSERT_EQ(tensor.data.size(), tensor.shape.size_bytes()) << name;
      } catch (const UsageError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, header * 255 / 2);
}

struct BadHeader {
  const char* header;
  const char* data;
  const char* message;
};

TEST(Safetensors, ReportsWhatIsWrongInAHeader) {
  const BadHeader cases[] = {
      {"[1]     ", "", "a.safetensors: the header is not a JSON object"},
      {"{", "", "a.safetensors: the header is not JSON"},
      {R"({"a":1})", "", "tensor 'a': its entry is not {dtype, shape, data_offsets}"},
      {R"({"a":{"dtype":"X9","shape":[],"data_offsets":[0,0]}})", "",
       R"(tensor 'a': dtype "X9" is not supported)"},
      {R"({"a":{"dtype":5,"shape":[],"data_offsets":[0,0]}})", "", "dtype 5 is not supported"},
      {R"({"a":{"dtype":["F32"],"shape":[],"data_offsets":[0,0]}})", "", "dtype is not a text"},
      {R"({"a":{"dtype":"U8","shape":3,"data_offsets":[0,3]}})", "abc", "shape is not a list"},
      {R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "a",
       "tensor 'a': a dimension is not a whole number"},
      {R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", "a",
       "a dimension is not a whole number"},
      {R"({"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,1]}})", "a",
       "shape [4294967296,4294967296] has too many elements"},
      {R"({"a":{"dtype":"U8","shape":[0,18446744073709551615],"data_offsets":[0,0]}})", "",
       "has too many elements"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", "a",
       "data_offsets is not [begin, end]"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,"1"]}})", "a",
       "an offset is not a whole number"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "a",
       "tensor 'a': data_offsets [0,2] lie outside of the 1 bytes of data"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", "a",
       "data_offsets [1,0] lie outside"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,2]}})", "ab",
       "tensor 'a': f32[1] takes 4 bytes, data_offsets [0,2] hold 2"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       "abc", "tensor 'b': begins at 1, where the tensor before it ends at 2"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "ab",
       "tensor 'a': begins at 1, where the tensor before it ends at 0"},
      {R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
       R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
       "", "tensor 'a': is listed twice"},
      {R"({"__metadata__":{"k":1}})", "", "__metadata__: 'k' is not a text"},
      {R"({"__metadata__":"k"})", "", "__metadata__ is not a JSON object"},
  };
  for (const BadHeader& bad : cases) {
    EXPECT_THAT(refusal(file_with(bad.header, bad.data)), HasSubstr(bad.message)) << bad.header;
    EXPECT_THAT(refusal(file_with(bad.header, bad.data)), HasSubstr("hint: ")) << bad.header;
  }
}

TEST(Safetensors, RejectsAHeaderLengthAboveTheLimit) {
  EXPECT_THAT(refusal(std::string(16, '\xff')), HasSubstr("is above the limit of 100000000 bytes"));
}

TEST(Safetensors, RejectsADeeplyNestedHeader) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_THAT(refusal(file_with(
                  str(R"({"a":{"dtype":)", deep, R"(,"shape":[],"data_offsets":[0,0]}})"), "")),
              HasSubstr("the header is not JSON"));
}

TEST(Safetensors, SuggestsASimilarNameForAMissingTensor) {
  const SafetensorsFile file(safetensors_bytes(small_tensors()), "a.safetensors");
  try {
    file.at("setp");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.safetensors: no tensor 'setp'"));
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'step'?"));
  }
}

TEST(Safetensors, ViewsStayValidWhileACopyOfTheFileExists) {
  auto file = std::make_unique<SafetensorsFile>(safetensors_bytes(small_tensors()), "x");
  const SafetensorsFile copy = *file;
  file.reset();
  EXPECT_EQ(tensor_values<float>(copy.at("w")), kFloats);
}

}  // namespace
}  // namespace smelt::io
