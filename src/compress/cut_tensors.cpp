#include "compress/cut_tensors.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "checkpoint/interop/cut_heads.h"

namespace smelt::compress {
namespace {

std::int64_t whole_number(const SourceFolder& source, const Json& value, const std::string& field) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1)
    throw UsageError(str(source.where, ": config.json: ", field, " is ", value.dump(),
                         ", expected a positive integer"),
                     "copy the folder again");
  return value.get<std::int64_t>();
}

}  // namespace

std::vector<LayerStack> layer_stacks(const SourceFolder& source) {
  const auto stack = [&](std::string what, std::string prefix, std::string field,
                         const Json& count) {
    const std::int64_t layers = whole_number(source, count, field);
    return LayerStack{std::move(what), std::move(prefix), std::move(field), layers};
  };
  const Json& c = source.config;
  const auto value_of = [&](const char* field) { return c.value(field, Json()); };
  if (source.kind == CompressKind::classifier) {
    auto modules = checkpoint::family_of_config(c, "compress").layer_modules(c);
    LayerStack out =
        stack("layers", modules.prefix, "num_hidden_layers", value_of("num_hidden_layers"));
    out.modules = std::move(modules);
    return {std::move(out)};
  }
  const auto decoder = value_of("num_decoder_layers");
  return {stack("layers", "encoder.block.", "num_layers", value_of("num_layers")),
          stack("decoder layers", "decoder.block.", "num_decoder_layers",
                decoder.is_null() ? value_of("num_layers") : decoder)};
}

std::vector<std::int64_t> spread_layers(std::int64_t count, std::int64_t of, std::int64_t period) {
  CHECK(count >= 1 && count <= of, count, " of ", of);
  std::vector<std::int64_t> out;
  if (period > 1) {
    const std::int64_t last = (count - 1) % period;  // offset of the last layer
    const auto blocks = spread_layers((count - 1) / period + 1, (of - 1 - last) / period + 1);
    for (std::int64_t i = 0; i < count; ++i)
      out.push_back(blocks[static_cast<std::size_t>(i / period)] * period + i % period);
    return out;
  }
  out.push_back(0);
  // Layer i is i * (of - 1) / (count - 1), rounded to nearest.
  for (std::int64_t i = 1; i < count; ++i)
    out.push_back((2 * i * (of - 1) + count - 1) / (2 * (count - 1)));
  return out;
}

void keep_layers(CompressedFolder& folder, const LayerStack& stack,
                 const std::vector<std::int64_t>& kept) {
  io::LazyTensors out;
  for (auto& [name, tensor] : folder.tensors) {
    const bool shared = name.find("relative_attention_bias") != std::string::npos;
    if (!name.starts_with(stack.prefix) || shared) {
      out.emplace(name, std::move(tensor));
      continue;
    }
    char* rest = nullptr;
    const std::int64_t number = std::strtoll(name.c_str() + stack.prefix.size(), &rest, 10);
    const auto found = std::ranges::find(kept, number);
    if (found != kept.end())
      out.emplace(str(stack.prefix, found - kept.begin(), rest), std::move(tensor));
  }
  folder.tensors = std::move(out);
  checkpoint::renumber_heads(folder.config, kept);
  folder.config[stack.field] = kept.size();
  if (const auto types = folder.config.find("layer_types");
      types != folder.config.end() && types->is_array()) {
    Json left = Json::array();
    for (const std::int64_t number : kept) left.push_back(types->at(number));
    *types = std::move(left);
  }
}

}  // namespace smelt::compress
