// Folders with quantized weights, which are int8 values (codes) and scales.
#include "checkpoint/interop/int8_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "checkpoint/interop/folder_weights.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "io/formats/crc32c.h"
#include "io/formats/safetensors.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
io::TensorView view_of(compiler::DType dtype, compiler::Dims dims, const std::vector<T>& values) {
  return {{dtype, std::move(dims)}, std::as_bytes(std::span(values))};
}

std::vector<float> floats(const io::LazyTensor& tensor) {
  const std::vector<std::byte> bytes = tensor.read();
  return io::tensor_values<float>({tensor.shape, bytes});
}

Json quantized(const char* method = kQuantMethod, const char* format = kIntQuantized) {
  return {{kQuantizationConfig, {{"quant_method", method}, {"format", format}}}};
}

const std::vector<std::int8_t> kCodes{1, -2, 3, -128, 127, 0};
const std::vector<float> kScales{0.5F, 2};
const std::vector<float> kBias{7, 8};
const std::vector<std::int8_t> kZeros{0, 0};

class Int8Folder : public testing::Test {
 protected:
  void write(const io::TensorMap& tensors) const {
    io::write_file(dir_.file("model.safetensors"),
                   io::safetensors_bytes(tensors, {{"format", "pt"}}));
  }
  std::string refusal(const io::TensorMap& tensors) const {
    write(tensors);
    return error_of<UsageError>([&] { plain_weights(dir_.path(), quantized()); });
  }
  io::TensorMap small() const {
    return {{"a.weight", view_of(compiler::DType::s8, {2, 3}, kCodes)},
            {"a.weight_scale", view_of(compiler::DType::f32, {2, 1}, kScales)},
            {"a.bias", view_of(compiler::DType::f32, {2}, kBias)}};
  }
  TempDir dir_;
};

TEST_F(Int8Folder, DequantizesWeights) {
  write(small());
  const io::LazyTensors read = plain_weights(dir_.path(), quantized());
  ASSERT_EQ(read.size(), 2);
  EXPECT_EQ(read.at("a.weight").shape, (compiler::Shape{compiler::DType::f32, {2, 3}}));
  EXPECT_THAT(floats(read.at("a.weight")), ElementsAre(0.5, -1, 1.5, -256, 254, 0));
  EXPECT_EQ(floats(read.at("a.bias")), kBias);
  // Without quantization_config the int8 values are returned unchanged.
  EXPECT_EQ(plain_weights(dir_.path(), Json::object()).at("a.weight").shape.dtype,
            compiler::DType::s8);
}

TEST_F(Int8Folder, StaysQuantizedUntilCopied) {
  write(small());
  const StoredTensors held = load_undecoded(plain_weights(dir_.path(), quantized()));
  const SlicedTensor& matrix = held.tensors.at("a.weight");
  EXPECT_TRUE(matrix.slices.front().part.data.empty());
  Scratch scratch;
  const auto values = [&](const compiler::Dims& begin, const compiler::Dims& dims) {
    const compiler::Shape part{compiler::DType::f32, dims};
    return io::tensor_values<float>({part, part_of(matrix.slices, begin, part, scratch)});
  };
  EXPECT_THAT(values({0, 0}, {2, 3}), ElementsAre(0.5, -1, 1.5, -256, 254, 0));
  EXPECT_THAT(values({0, 1}, {2, 2}), ElementsAre(-1, 1.5, 254, 0));  // a slice, as on a mesh
  EXPECT_EQ(io::tensor_values<float>(whole(held.tensors.at("a.bias"), scratch)), kBias);
  // Copies the matrix into the second layer of a stack.
  TensorSlice layer = matrix.slices.front();
  layer.begin = {1, 0, 0};
  layer.part.shape.dims = {1, 2, 3};
  std::vector<float> stack(12, 9);
  copy_part(std::span(&layer, 1), {0, 0, 0}, {compiler::DType::f32, {2, 2, 3}},
            std::as_writable_bytes(std::span(stack)));
  EXPECT_THAT(stack, ElementsAre(9, 9, 9, 9, 9, 9, 0.5, -1, 1.5, -256, 254, 0));
}

TEST_F(Int8Folder, AcceptsOneScaleInHalfPrecision) {
  io::TensorMap tensors = small();
  const std::vector<std::uint16_t> quarter{0x3e80};  // 0.25 as bf16
  tensors["a.weight_scale"] = view_of(compiler::DType::bf16, {1}, quarter);
  write(tensors);
  EXPECT_THAT(floats(plain_weights(dir_.path(), quantized()).at("a.weight")),
              ElementsAre(0.25, -0.5, 0.75, -32, 31.75, 0));
}

TEST_F(Int8Folder, ReportsMismatches) {
  io::TensorMap tensors = small();
  tensors.erase("a.weight_scale");
  EXPECT_THAT(refusal(tensors), HasSubstr("model.safetensors: 'a.weight' is i8[2,3], but there is "
                                          "no 'a.weight_scale'\n  hint: copy the folder again"));
  tensors["a.weight_scale"] = view_of(compiler::DType::f32, {1, 2}, kScales);
  EXPECT_THAT(
      refusal(tensors),
      HasSubstr("'a.weight_scale' is f32[1,2] for i8[2,3]: expected one scale per row or one for "
                "the whole matrix\n  hint: use a model that is quantized by channel"));
  tensors = small();
  tensors["a.weight_zero_point"] = view_of(compiler::DType::s8, {2, 1}, kZeros);
  EXPECT_THAT(refusal(tensors),
              HasSubstr("'a.weight_zero_point' is a zero point, which is not supported"));
}

TEST_F(Int8Folder, ReadsStaticInputScales) {
  Json config = quantized();
  config[kQuantizationConfig]["config_groups"]["group_0"] = {
      {"targets", {"Linear"}}, {"input_activations", activations_by_input_scale()}};
  const std::vector<float> scale{0.25F}, two{0.25F, 0.5F};
  const auto refusal_of = [&](const io::TensorMap& tensors) {
    write(tensors);
    return error_of<UsageError>([&] { plain_weights(dir_.path(), config); });
  };
  io::TensorMap tensors = small();
  EXPECT_THAT(refusal_of(tensors),
              HasSubstr("'a.weight' requires a static input scale, but there is no "
                        "'a.input_scale'\n  hint: copy the folder again"));
  tensors["a.input_scale"] = view_of(compiler::DType::f32, {2}, two);
  EXPECT_THAT(refusal_of(tensors), HasSubstr("'a.input_scale' is f32[2], expected a single value"));
  tensors["a.input_scale"] = view_of(compiler::DType::f32, {1}, scale);
  tensors["a.input_zero_point"] = view_of(compiler::DType::s8, {2}, kZeros);
  EXPECT_THAT(refusal_of(tensors),
              HasSubstr("'a.input_zero_point' is a zero point, which is not supported"));
  tensors.erase("a.input_zero_point");
  write(tensors);
  const CapturedLog log;
  EXPECT_TRUE(is_quantized(config, "config.json"));
  EXPECT_EQ(log.text(), "");
  const io::LazyTensors plain = plain_weights(dir_.path(), config);
  EXPECT_EQ(plain.size(), 2);
  const io::LazyTensors codes = as_codes(plain);
  ASSERT_EQ(codes.size(), 4);
  EXPECT_THAT(floats(codes.at("a.weight_input_scale")), ElementsAre(0.25));
  // Without int8 activations in the config the weights are read as floats.
  EXPECT_EQ(as_codes(plain_weights(dir_.path(), quantized())).size(), 2);
}

TEST(QuantizationConfig, RejectsOtherQuantizationMethods) {
  EXPECT_FALSE(is_quantized(Json::object(), "config.json"));
  EXPECT_FALSE(is_quantized({{kQuantizationConfig, nullptr}}, "config.json"));
  EXPECT_TRUE(is_quantized(quantized(), "config.json"));
  const auto refused = [](const Json& config) {
    return error_of<UsageError>([&] { is_quantized(config, "config.json"); });
  };
  EXPECT_THAT(refused(quantized("gptq")),
              HasSubstr("config.json: quantization_config's quant_method is \"gptq\", expected "
                        "\"compressed-tensors\"\n  hint: use the unquantized model"));
  EXPECT_THAT(refused(quantized(kQuantMethod, "float-quantized")),
              HasSubstr("format is \"float-quantized\", expected \"int-quantized\""));
  Json activations = quantized();
  activations[kQuantizationConfig]["config_groups"]["group_0"]["input_activations"]["num_bits"] = 8;
  const CapturedLog log;
  EXPECT_TRUE(is_quantized(activations, "config.json"));
  EXPECT_THAT(log.text(), HasSubstr("config.json: activations are computed in floating point"));
}

TEST_F(Int8Folder, DetectsEveryChangedByteByChecksums) {
  write(small());
  Json crc = Json::object();
  for (const auto& [name, view] : small())
    crc[name] = io::crc32c({reinterpret_cast<const char*>(view.data.data()), view.data.size()});
  io::write_file(dir_.file(kCompressedFile), Json{{"crc32c", crc}}.dump());
  const std::string whole = io::read_file(dir_.file("model.safetensors"));
  const auto read_all = [&] {
    for (const auto& [name, tensor] : plain_weights(dir_.path(), quantized())) tensor.read();
  };
  EXPECT_EQ(error_of<UsageError>(read_all), "no error");
  const std::size_t data = whole.rfind('}') + 1;
  std::size_t in_data = 0;
  for (std::size_t i = whole.find_first_not_of(' ', data); i < whole.size(); ++i, ++in_data) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    io::write_file(dir_.file("model.safetensors"), changed);
    EXPECT_THAT(error_of<UsageError>(read_all), HasSubstr("is damaged: its crc32c is ")) << i;
  }
  EXPECT_EQ(in_data, 4 * 4 + 6);
  io::write_file(dir_.file(kCompressedFile), "{}");
  EXPECT_THAT(error_of<UsageError>(read_all),
              HasSubstr("compress.json: has no field crc32c with the tensors' checksums\n  hint: "
                        "copy the folder"));
}

TEST(QuantizedTensor, RejectsAnInfiniteWeight) {
  const std::vector<float> values{1, 2, std::numeric_limits<float>::infinity(), 4};
  const io::LazyTensors tensors =
      lazy_tensors(io::TensorMap{{"w", view_of(compiler::DType::f32, {2, 2}, values)}});
  const QuantizedTensor in_codes = coded(tensors.at("w"), "compress: 'w'");
  EXPECT_EQ(in_codes.codes.shape, (compiler::Shape{compiler::DType::s8, {2, 2}}));
  EXPECT_EQ(in_codes.scales.shape, (compiler::Shape{compiler::DType::f32, {2, 1}}));
  EXPECT_THAT(error_of<UsageError>([&] { in_codes.codes.read(); }),
              HasSubstr("compress: 'w' holds inf, expected finite numbers"));
}

}  // namespace
}  // namespace smelt::checkpoint
