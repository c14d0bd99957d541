#include "checkpoint/interop/int8_weights.h"

#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/decoded.h"
#include "checkpoint/interop/int4_weights.h"
#include "checkpoint/interop/sparse_weights.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/formats/int8_rows.h"
#include "model/nn/scope.h"

namespace smelt::checkpoint {
namespace {

constexpr const char *kWeight = ".weight", *kZeroPoint = "_zero_point";

// Returns "bert.pooler.dense" for "bert.pooler.dense.weight".
std::string module_of(const std::string& name) {
  return name.substr(0, name.size() - std::string_view(kWeight).size());
}

[[noreturn]] void refuse_way(const std::string& where, const char* field, const Json& said,
                             const char* wanted) {
  throw UsageError(str(where, ": ", kQuantizationConfig, "'s ", field, " is ", said.dump(),
                       ", expected \"", wanted, "\""),
                   "use the unquantized model");
}

void refuse_zero_point(const std::string& name, const io::LazyTensors& tensors,
                       const std::string& where) {
  if (tensors.contains(name))
    throw UsageError(str(where, ": '", name, "' is a zero point, which is not supported"),
                     "use a model that is quantized symmetrically");
}

const io::LazyTensor& scale_of(const std::string& name, const io::LazyTensor& codes,
                               const io::LazyTensors& tensors, const std::string& where) {
  const auto found = tensors.find(name + kScaleSuffix);
  if (found == tensors.end())
    throw UsageError(str(where, ": '", name, "' is ", codes.shape, ", but there is no '", name,
                         kScaleSuffix, "'"),
                     "copy the folder again, or compress the model again");
  const compiler::Shape& shape = found->second.shape;
  const bool whole = shape.elements() == 1;
  const bool rows = codes.shape.rank() == 2 && shape.dims == compiler::Dims{codes.shape.dims[0], 1};
  if (!compiler::is_float(shape.dtype) || !(whole || rows))
    throw UsageError(str(where, ": '", found->first, "' is ", shape, " for ", codes.shape,
                         ": expected one scale per row or one for the whole matrix"),
                     "use a model that is quantized by channel");
  refuse_zero_point(name + kZeroPoint, tensors, where);
  return found->second;
}

std::vector<Json> groups_of(const Json& config) {
  std::vector<Json> out;
  const Json said = config.value(kQuantizationConfig, Json::object());
  for (const Json& group : said.value("config_groups", Json::object()))
    if (group.is_object()) out.push_back(group);
  return out;
}

// Returns the input_activations field for a module: from the first quantization group whose targets
// list the module, otherwise from a group for the class "Linear". Returns null if there is neither.
Json activations_of(const Json& config, const std::string& module) {
  Json found;
  for (const Json& group : groups_of(config))
    for (const Json& target : group.value("targets", Json::array())) {
      if (target == module) return group.value("input_activations", Json());
      if (target == "Linear") found = group.value("input_activations", Json());
    }
  return found;
}

bool are_so(const Json& activations, const Json& wanted) {
  if (!activations.is_object()) return false;
  for (const auto& [field, value] : wanted.items())
    if (field != "observer" && activations.value(field, Json()) != value) return false;
  return true;
}
bool are_by_row(const Json& activations) { return are_so(activations, activations_by_row()); }
bool are_by_input_scale(const Json& activations) {
  return are_so(activations, activations_by_input_scale());
}

// Returns the static scale [1] of the module's input.
io::LazyTensor input_scale_of(const std::string& module, const io::LazyTensors& tensors,
                              const std::string& where) {
  const std::string name = module + kInputScale;
  const auto found = tensors.find(name);
  if (found == tensors.end())
    throw UsageError(str(where, ": '", module, kWeight, "' requires a static input scale, but ",
                         "there is no '", name, "'"),
                     "copy the folder again, or compress the model again");
  const compiler::Shape& shape = found->second.shape;
  if (!compiler::is_float(shape.dtype) || shape.elements() != 1)
    throw UsageError(str(where, ": '", name, "' is ", shape, ", expected a single value"),
                     "use a model whose activations are quantized by tensor");
  refuse_zero_point(str(module, ".input", kZeroPoint), tensors, where);
  const io::LazyTensor plain = as_dtype(found->second, compiler::DType::f32);
  return {{compiler::DType::f32, {1}}, plain.read};
}

// Returns the scales as f32 [rows]. Repeats a scale of the whole matrix for every row.
io::LazyTensor by_row(const io::LazyTensor& scale, const io::LazyTensor& codes) {
  const auto rows = static_cast<std::size_t>(codes.shape.dims[0]);
  return {{compiler::DType::f32, {codes.shape.dims[0]}}, [scale, rows] {
            auto scales = read_values<float>(scale);
            if (scales.size() == 1) scales.assign(rows, scales[0]);
            return bytes_of_values(scales);
          }};
}

// Returns a function that decodes the values.
io::PutBytes read_codes(const io::LazyTensor& codes, const io::LazyTensor& scale, io::Laid laid) {
  const auto given = std::make_shared<const std::vector<std::byte>>(codes.read());
  return [given, scales = read_values<float>(scale),
          rows = static_cast<std::size_t>(codes.shape.dims[0]), laid](std::span<std::byte> to) {
    io::put_int8_values({reinterpret_cast<const std::int8_t*>(given->data()), given->size()},
                        scales, rows,
                        {reinterpret_cast<float*>(to.data()), to.size() / sizeof(float)}, laid);
  };
}

io::Int8Rows coded_rows(const io::LazyTensor& matrix, const std::string& what) {
  return io::int8_rows(finite_values(matrix, what), static_cast<std::size_t>(matrix.shape.dims[0]));
}

}  // namespace

bool is_quantized(const Json& config, const std::string& where) {
  const auto found = config.is_object() ? config.find(kQuantizationConfig) : config.end();
  if (!config.is_object() || found == config.end() || found->is_null()) return false;
  const Json said = found->is_object() ? *found : Json::object();
  const Json method = said.value("quant_method", Json()), format = said.value("format", Json());
  const bool is_own = method.is_null() && said.contains(kSparsityConfig);  // written by smelt
  if (!is_own && method != kQuantMethod) refuse_way(where, "quant_method", method, kQuantMethod);
  if (is_sparse(config, where)) return true;
  if (format != kIntQuantized && format != kPackQuantized)
    refuse_way(where, "format", format, kIntQuantized);
  for (const Json& group : groups_of(config)) {
    const Json activations = group.value("input_activations", Json());
    if (!activations.is_null() && !are_by_row(activations) && !are_by_input_scale(activations))
      log_warning(
          "{}: activations are computed in floating point: int8 activations with strategy {} are "
          "not supported",
          where, activations.value("strategy", Json("unknown")).dump());
  }
  return true;
}

Json activations_by_row() {
  return {{"num_bits", 8},       {"type", "int"},   {"symmetric", true},
          {"strategy", "token"}, {"dynamic", true}, {"observer", nullptr}};
}

Json activations_by_input_scale() {
  return {{"num_bits", 8},        {"type", "int"},    {"symmetric", true},
          {"strategy", "tensor"}, {"dynamic", false}, {"observer", "minmax"}};
}

io::LazyTensors with_decoded_weights(io::LazyTensors tensors, const Json& config,
                                     const std::string& where) {
  io::LazyTensors out;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.shape.dtype != compiler::DType::s8 || !name.ends_with(kWeight)) {
      out.emplace(name, tensor);
      continue;
    }
    const io::LazyTensor scale =
        as_dtype(scale_of(name, tensor, tensors, where), compiler::DType::f32);
    io::LazyTensor values = decoded(tensor.shape.dims, [tensor, scale](io::Laid laid) {
      return read_codes(tensor, scale, laid);
    });
    const std::string module = module_of(name);
    const Json activations = activations_of(config, module);
    io::LazyCodes codes{tensor, by_row(scale, tensor)};
    const bool by_input_scale = are_by_input_scale(activations);
    if (by_input_scale) codes.input_scale = input_scale_of(module, tensors, where);
    codes.of_rows = by_input_scale || are_by_row(activations);
    values.codes = std::make_shared<const io::LazyCodes>(std::move(codes));
    out.emplace(name, std::move(values));
  }
  for (const auto& [name, tensor] : tensors)
    if (tensor.shape.dtype == compiler::DType::s8) {
      out.erase(name + kScaleSuffix);
      if (name.ends_with(kWeight)) out.erase(module_of(name) + kInputScale);
    }
  return out;
}

io::LazyTensors as_codes(const io::LazyTensors& tensors) {
  io::LazyTensors out;
  for (const auto& [name, tensor] : tensors) {
    const bool of_rows = tensor.codes && tensor.codes->of_rows;
    out.emplace(name, of_rows ? tensor.codes->codes : tensor);
    if (!of_rows) continue;
    out.emplace(model::scales_name(name), tensor.codes->scales);
    if (tensor.codes->input_scale)
      out.emplace(model::input_scale_name(name), *tensor.codes->input_scale);
  }
  return out;
}

QuantizedTensor coded(const io::LazyTensor& matrix, const std::string& what) {
  CHECK(matrix.shape.rank() == 2, what, " ", matrix.shape);
  const io::LazyTensor plain = as_dtype(matrix, compiler::DType::f32);
  const compiler::Dims& dims = matrix.shape.dims;
  return {.codes = {{compiler::DType::s8, dims},
                    [plain, what] { return bytes_of_values(coded_rows(plain, what).codes); }},
          .scales = {{compiler::DType::f32, {dims[0], 1}},
                     [plain, what] { return bytes_of_values(coded_rows(plain, what).scales); }}};
}

}  // namespace smelt::checkpoint
