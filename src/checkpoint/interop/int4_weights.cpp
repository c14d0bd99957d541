#include "checkpoint/interop/int4_weights.h"

#include <memory>
#include <string_view>

#include "base/error.h"
#include "checkpoint/interop/decoded.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/storage/lazy_files.h"

namespace smelt::checkpoint {
namespace {

constexpr std::string_view kPackedWeight = ".weight_packed";

struct PackedMatrix {
  io::LazyTensor words, scales;
  compiler::Shape shape;  // f32 [rows,columns]
};

template <class T>
io::LazyTensor held_numbers(compiler::Shape shape, const std::vector<T>& values) {
  return {std::move(shape), [values] { return bytes_of_values(values); }};
}

const io::LazyTensor& part_of_packed(const io::LazyTensors& tensors, const std::string& name,
                                     const char* suffix, const std::string& where) {
  const auto found = tensors.find(name + suffix);
  if (found == tensors.end())
    throw UsageError(
        str(where, ": '", name, kPackedSuffix, "' exists without '", name, suffix, "'"),
        "copy the folder again, or compress the model again");
  return found->second;
}

compiler::Dims said_shape(const io::LazyTensor& shape) {
  if (shape.shape.dtype == compiler::DType::s64) return read_values<std::int64_t>(shape);
  if (shape.shape.dtype != compiler::DType::s32) return {};
  const auto narrow = read_values<std::int32_t>(shape);
  return {narrow.begin(), narrow.end()};
}

PackedMatrix packed_matrix(const io::LazyTensors& tensors, const std::string& name,
                           const std::string& where) {
  const io::LazyTensor& words = part_of_packed(tensors, name, kPackedSuffix, where);
  const io::LazyTensor& scales = part_of_packed(tensors, name, kScaleSuffix, where);
  const compiler::Dims dims = said_shape(part_of_packed(tensors, name, kShapeSuffix, where));
  const compiler::Dims groups = scales.shape.dims;
  const bool fits =
      dims.size() == 2 && dims[1] % io::kCodesOfWord == 0 &&
      words.shape == compiler::Shape{compiler::DType::s32, {dims[0], dims[1] / io::kCodesOfWord}} &&
      compiler::is_float(scales.shape.dtype) && groups.size() == 2 && groups[0] == dims[0] &&
      groups[1] > 0 && dims[1] % groups[1] == 0;
  if (!fits)
    throw UsageError(
        str(where, ": '", name, kPackedSuffix, "' is ", words.shape, " and its scales ",
            scales.shape, ", which does not fit a matrix ", compiler::dims_text(dims)),
        "use a model with int4 weights in groups of columns");
  if (tensors.contains(name + "_zero_point") || tensors.contains(name + "_g_idx"))
    throw UsageError(
        str(where, ": '", name, "' has zero points or an activation order, which is not supported"),
        "use a model that is quantized symmetrically, without activation order");
  return {words, as_dtype(scales, compiler::DType::f32), {compiler::DType::f32, dims}};
}

io::PutBytes read_packed(const PackedMatrix& m, io::Laid laid) {
  const auto words =
      std::make_shared<const std::vector<std::uint32_t>>(read_values<std::uint32_t>(m.words));
  return [words, scales = read_values<float>(m.scales),
          rows = static_cast<std::size_t>(m.shape.dims[0]), laid](std::span<std::byte> to) {
    io::put_int4_values(*words, scales, rows,
                        {reinterpret_cast<float*>(to.data()), to.size() / sizeof(float)}, laid);
  };
}

}  // namespace

bool is_packed(const Json& config) {
  const Json said = config.value(kQuantizationConfig, Json());
  return said.is_object() && said.value("format", Json()) == kPackQuantized;
}

io::LazyTensors without_packed(io::LazyTensors tensors, const std::string& where) {
  io::LazyTensors out = tensors;
  for (const auto& [full, words] : tensors) {
    if (!full.ends_with(kPackedWeight)) continue;
    const std::string name = full.substr(0, full.size() - std::string_view(kPackedSuffix).size());
    const PackedMatrix matrix = packed_matrix(tensors, name, where);
    out.emplace(name, decoded(matrix.shape.dims,
                              [matrix](io::Laid laid) { return read_packed(matrix, laid); }));
    for (const char* suffix : {kPackedSuffix, kScaleSuffix, kShapeSuffix}) out.erase(name + suffix);
  }
  return out;
}

io::LazyTensors packed_tensors(const io::Int4Groups& codes, std::int64_t rows) {
  const auto of_row = [rows](std::size_t all) { return static_cast<std::int64_t>(all) / rows; };
  const std::int64_t words = of_row(codes.words.size()), groups = of_row(codes.scales.size());
  return {{kPackedSuffix, held_numbers({compiler::DType::s32, {rows, words}}, codes.words)},
          {kScaleSuffix, held_numbers({compiler::DType::f32, {rows, groups}}, codes.scales)},
          {kShapeSuffix, held_numbers({compiler::DType::s64, {2}},
                                      std::vector<std::int64_t>{rows, words * io::kCodesOfWord})}};
}

}  // namespace smelt::checkpoint
