#include "checkpoint/storage/parameter_names.h"

#include <algorithm>

#include "base/str.h"

namespace smelt::checkpoint {
namespace {

ParameterNames::Part operator/(const ParameterNames::Part& part, const std::string& name) {
  std::string dotted = name;
  for (char& c : dotted)
    if (c == '/') c = '.';
  return {str(part.original, "/", name), str(part.hugging_face, ".", dotted)};
}

}  // namespace

std::vector<ParameterName> without_missing_parts(
    std::span<const ParameterName> names, std::span<const std::string_view> parts,
    const std::function<bool(const ParameterName&)>& is_there) {
  std::vector<ParameterName> out(names.begin(), names.end());
  for (const std::string_view part : parts) {
    const auto in_part = [&](const ParameterName& name) { return name.original.starts_with(part); };
    if (std::ranges::none_of(
            out, [&](const ParameterName& name) { return in_part(name) && is_there(name); }))
      std::erase_if(out, in_part);
  }
  return out;
}

// Returns the name with its part "/layer_normalization" or "/layer_normalization_7" replaced.
static std::string with_layer_norm_name(const std::string& name) {
  constexpr std::string_view kNumbered = "/layer_normalization";
  const auto at = name.find(kNumbered);
  if (at == std::string::npos) return name;
  const auto end = name.find_first_not_of("_0123456789", at + kNumbered.size());
  if (end == std::string::npos || name[end] != '/') return name;
  return str(name.substr(0, at), "/LayerNorm", name.substr(end));
}

io::LazyTensors with_layer_norm_names(io::LazyTensors tensors) {
  io::LazyTensors out;
  for (const auto& [name, tensor] : tensors)
    if (const std::string usual = with_layer_norm_name(name);
        usual == name || tensors.contains(usual) || !out.emplace(usual, tensor).second)
      out.emplace(name, tensor);
  return out;
}

void ParameterNames::plain(const Part& part, compiler::Dims dims) {
  names_.push_back(
      {part.original, part.hugging_face, {compiler::DType::f32, std::move(dims)}, false});
}

void ParameterNames::kernel(const Part& part, std::int64_t in, std::int64_t out) {
  names_.push_back({part.original + "/kernel",
                    part.hugging_face + ".weight",
                    {compiler::DType::f32, {in, out}},
                    true});
}

void ParameterNames::dense(const Part& part, std::int64_t in, std::int64_t out) {
  kernel(part, in, out);
  plain(part / "bias", {out});
}

void ParameterNames::layer_norm(const Part& part, std::int64_t size) {
  plain({part.original + "/LayerNorm/beta", part.hugging_face + ".LayerNorm.bias"}, {size});
  plain({part.original + "/LayerNorm/gamma", part.hugging_face + ".LayerNorm.weight"}, {size});
}

void ParameterNames::embeddings(const Part& part, const TableRows& rows, std::int64_t width) {
  for (const auto& [table, count] : {std::pair{"word_embeddings", rows.words},
                                     {"token_type_embeddings", rows.kinds},
                                     {"position_embeddings", rows.positions}})
    plain({str(part.original, "/", table), str(part.hugging_face, ".", table, ".weight")},
          {count, width});
  layer_norm(part, width);
}

void ParameterNames::encoder(const Part& part, const EncoderSizes& sizes) {
  const auto& [layers, hidden, attention, intermediate] = sizes;
  for (std::int64_t i = 0; i < layers; ++i) {
    const Part layer{str(part.original, "/encoder/layer_", i),
                     str(part.hugging_face, ".encoder.layer.", i)};
    for (const char* name : {"query", "key", "value"})
      dense(layer / str("attention/self/", name), hidden, attention);
    dense(layer / "attention/output/dense", attention, hidden);
    layer_norm(layer / "attention/output", hidden);
    dense(layer / "intermediate/dense", hidden, intermediate);
    dense(layer / "output/dense", intermediate, hidden);
    layer_norm(layer / "output", hidden);
  }
}

}  // namespace smelt::checkpoint
