#include "checkpoint/interop/sparse_weights.h"

#include <memory>

#include "base/error.h"
#include "checkpoint/interop/decoded.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/formats/bitmask_rows.h"

namespace smelt::checkpoint {
namespace {

constexpr const char *kCompressedValues = "compressed", *kBits = "bitmask",
                     *kRowOffsets = "row_offsets", *kDenseShape = "shape";
constexpr std::string_view kBitsOfModule = ".bitmask";

struct SparseMatrix {
  io::LazyTensor values, bits;
  compiler::Shape shape;  // f32 [R,C]
  std::string what;
};

const io::LazyTensor& part_of_sparse(const io::LazyTensors& tensors, const std::string& module,
                                     const char* part, const std::string& where) {
  const auto found = tensors.find(str(module, ".", part));
  if (found == tensors.end())
    throw UsageError(
        str(where, ": '", module, kBitsOfModule, "' exists without '", module, ".", part, "'"),
        "copy the folder again, or compress the model again");
  return found->second;
}

SparseMatrix sparse_matrix(const io::LazyTensors& tensors, const std::string& module,
                           const std::string& where) {
  const io::LazyTensor& values = part_of_sparse(tensors, module, kCompressedValues, where);
  const io::LazyTensor& bits = part_of_sparse(tensors, module, kBits, where);
  const io::LazyTensor& shape = part_of_sparse(tensors, module, kDenseShape, where);
  const compiler::Dims dims = shape.shape.dtype == compiler::DType::s64
                                  ? compiler::Dims(read_values<std::int64_t>(shape))
                                  : compiler::Dims();
  const bool fits =
      dims.size() == 2 && dims[0] > 0 && dims[1] > 0 && dims[0] < (1LL << 31) &&
      dims[1] < (1LL << 31) && compiler::is_float(values.shape.dtype) && values.shape.rank() == 1 &&
      bits.shape == compiler::Shape{compiler::DType::u8, {dims[0], io::bitmask_bytes(dims[1])}};
  if (!fits)
    throw UsageError(
        str(where, ": '", module, kBitsOfModule, "' is ", bits.shape, " and its values ",
            values.shape, ", which does not fit a matrix ", compiler::dims_text(dims)),
        "use a model with sparsity format \"sparse-bitmask\"");
  return {.values = as_dtype(values, compiler::DType::f32),
          .bits = bits,
          .shape = {compiler::DType::f32, dims},
          .what = str(where, ": '", module)};
}

io::PutBytes read_sparse(const SparseMatrix& m, io::Laid laid) {
  const auto bits =
      std::make_shared<const std::vector<std::uint8_t>>(read_values<std::uint8_t>(m.bits));
  const auto values = std::make_shared<const std::vector<float>>(read_values<float>(m.values));
  const auto rows = static_cast<std::size_t>(m.shape.dims[0]);
  const std::size_t places = io::count_bits(*bits, rows, static_cast<std::size_t>(m.shape.dims[1]));
  if (places != values->size())
    throw UsageError(str(m.what, kBitsOfModule, "' marks ", places, " values, but '",
                         kCompressedValues, "' has ", values->size()),
                     "copy the folder again, or compress the model again");
  return [bits, values, rows, laid](std::span<std::byte> to) {
    io::put_bitmask_values(*values, *bits, rows,
                           {reinterpret_cast<float*>(to.data()), to.size() / sizeof(float)}, laid);
  };
}

}  // namespace

bool is_sparse(const Json& config, const std::string& where) {
  const Json said = config.value(kQuantizationConfig, Json());
  const Json sparsity = said.is_object() ? said.value(kSparsityConfig, Json()) : Json();
  const Json format = sparsity.is_object() ? sparsity.value("format", Json()) : Json();
  if (format.is_null() || format == "dense") return false;
  if (format != kSparseBitmask)
    throw UsageError(str(where, ": ", kSparsityConfig, "'s format is ", format.dump(),
                         ", expected \"", kSparseBitmask, "\""),
                     "use the uncompressed model");
  if (!said.value("config_groups", Json::object()).empty())
    throw UsageError(str(where, ": weights that are both sparse (", kSparsityConfig,
                         ") and quantized (config_groups) are not supported"),
                     "use the uncompressed model");
  return true;
}

io::LazyTensors without_bitmasks(io::LazyTensors tensors, const std::string& where) {
  io::LazyTensors out = tensors;
  for (const auto& [full, bits] : tensors) {
    if (!full.ends_with(kBitsOfModule)) continue;
    const std::string module = full.substr(0, full.size() - kBitsOfModule.size());
    const SparseMatrix matrix = sparse_matrix(tensors, module, where);
    out.emplace(module + ".weight", decoded(matrix.shape.dims, [matrix](io::Laid laid) {
                  return read_sparse(matrix, laid);
                }));
    for (const char* part : {kCompressedValues, kBits, kRowOffsets, kDenseShape})
      out.erase(str(module, ".", part));
  }
  return out;
}

io::LazyTensors bitmask_tensors(const io::LazyTensor& matrix, std::int64_t not_zero) {
  const compiler::Dims& dims = matrix.shape.dims;
  const auto rows = [plain = as_dtype(matrix, compiler::DType::f32)] {
    return io::bitmask_rows(read_values<float>(plain),
                            static_cast<std::size_t>(plain.shape.dims[0]));
  };
  const io::LazyTensor values{{compiler::DType::f32, {not_zero}},
                              [rows] { return bytes_of_values(rows().values); }};
  return {{kCompressedValues, as_dtype(values, matrix.shape.dtype)},
          {kBits,
           {{compiler::DType::u8, {dims[0], io::bitmask_bytes(dims[1])}},
            [rows] { return bytes_of_values(rows().bits); }}},
          {kRowOffsets,
           {{compiler::DType::s64, {dims[0]}}, [rows] { return bytes_of_values(rows().offsets); }}},
          {kDenseShape, {{compiler::DType::s64, {2}}, [dims] {
                           return bytes_of_values(std::vector<std::int64_t>(dims));
                         }}}};
}

}  // namespace smelt::checkpoint
