#include "checkpoint/interop/cut_heads.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace smelt::checkpoint {
namespace {

constexpr const char *kHeads = "num_attention_heads", *kHidden = "hidden_size",
                     *kLayers = "num_hidden_layers";

std::int64_t size_in(const Json& config, const char* field) {
  const Json said = config.value(field, Json());
  return said.is_number_integer() ? said.get<std::int64_t>() : 0;
}

// Returns the pruned heads of a layer, ascending; nullopt if the list is invalid.
std::optional<std::vector<std::int64_t>> pruned_in(const Json& config, std::int64_t layer) {
  const Json said = config.at(kPrunedHeads).value(std::to_string(layer), Json::array());
  std::vector<std::int64_t> out;
  if (!said.is_array()) return std::nullopt;
  for (const Json& head : said) {
    if (!head.is_number_integer()) return std::nullopt;
    out.push_back(head.get<std::int64_t>());
    if (out.back() < 0 || out.back() >= size_in(config, kHeads)) return std::nullopt;
  }
  std::ranges::sort(out);
  if (std::ranges::adjacent_find(out) != out.end()) return std::nullopt;
  return out;
}

bool lists_heads(const Json& config) {
  const Json said = config.is_object() ? config.value(kPrunedHeads, Json()) : Json();
  return said.is_object() && !said.empty();
}

}  // namespace

Json with_remaining_heads(Json config, const std::string& where) {
  if (!lists_heads(config)) return config;
  const std::int64_t heads = size_in(config, kHeads), hidden = size_in(config, kHidden);
  const auto refuse = [&](const std::string& what) {
    throw UsageError(str(where, ": ", kPrunedHeads, " ", what),
                     "use a model with the same number of heads in every layer");
  };
  if (heads < 1 || hidden < 1 || hidden % heads != 0)
    refuse(str("does not fit ", kHeads, " ", heads, " and ", kHidden, " ", hidden));
  std::optional<std::size_t> all;
  for (std::int64_t layer = 0; layer < size_in(config, kLayers); ++layer) {
    const auto cut = pruned_in(config, layer);
    if (!cut)
      refuse(str("has an invalid list for layer ", layer, ", expected heads 0 to ", heads - 1));
    if (all && *all != cut->size())
      refuse(str("leaves layer 0 with ", heads - static_cast<std::int64_t>(*all),
                 " heads, but layer ", layer, " with ", heads - std::ssize(*cut)));
    all = cut->size();
  }
  const auto left = heads - static_cast<std::int64_t>(all.value_or(0));
  if (left < 1) refuse("leaves no heads");
  config.erase(kPrunedHeads);
  if (left == heads) return config;
  config[kHeadWidth] = hidden / heads;
  config[kHeads] = left;
  return config;
}

Json with_heads_listed(Json config) {
  const std::int64_t width = size_in(config, kHeadWidth);
  if (width == 0) return config;
  const std::int64_t left = size_in(config, kHeads), hidden = size_in(config, kHidden);
  if (hidden % width != 0 || left * width > hidden)
    throw UsageError(str("export: transformers cannot represent ", left, " heads of width ", width,
                         " with a hidden size of ", hidden),
                     "use the model's checkpoint instead");
  config.erase(kHeadWidth);
  config[kHeads] = hidden / width;
  Json gone = Json::array();
  for (std::int64_t head = left; head < hidden / width; ++head) gone.push_back(head);
  if (gone.empty()) return config;
  for (std::int64_t layer = 0; layer < size_in(config, kLayers); ++layer)
    config[kPrunedHeads][std::to_string(layer)] = gone;
  return config;
}

std::vector<std::int64_t> remaining_heads(const Json& config, std::int64_t layer) {
  const auto cut = lists_heads(config) ? pruned_in(config, layer) : std::vector<std::int64_t>();
  CHECK(cut.has_value(), layer);
  std::vector<std::int64_t> out;
  for (std::int64_t head = 0; head < size_in(config, kHeads); ++head)
    if (!std::ranges::binary_search(*cut, head)) out.push_back(head);
  return out;
}

void keep_heads(Json& config, std::int64_t layer, const std::vector<std::int64_t>& kept) {
  const std::vector<std::int64_t> there = remaining_heads(config, layer);
  Json gone = Json::array();
  for (std::int64_t head = 0; head < size_in(config, kHeads); ++head)
    if (std::ranges::none_of(
            kept, [&](std::int64_t at) { return there.at(static_cast<std::size_t>(at)) == head; }))
      gone.push_back(head);
  config[kPrunedHeads][std::to_string(layer)] = gone;
}

void renumber_heads(Json& config, const std::vector<std::int64_t>& kept_layers) {
  if (!lists_heads(config)) return;
  const Json was = config[kPrunedHeads];
  Json is = Json::object();
  for (std::size_t i = 0; i < kept_layers.size(); ++i)
    if (const auto found = was.find(std::to_string(kept_layers[i])); found != was.end())
      is[std::to_string(i)] = *found;
  config[kPrunedHeads] = is;
}

}  // namespace smelt::checkpoint
