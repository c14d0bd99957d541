#include "compress/prune.h"

#include <algorithm>

#include "base/error.h"
#include "base/words.h"
#include "compress/cut_tensors.h"

namespace smelt {
namespace {

using nlohmann::json;

constexpr const char* kMethod = "prune";

void refuse_cut(const SourceFolder& source) {
  for (const json& step : source.steps)
    if (step.is_object() && step.value("method", "") == kMethod)
      throw UsageError(str("compress: ", source.where, " was cut already"),
                       "cut the model that it was made of by both at once, or train it first");
}

void check_kept(const std::vector<std::int64_t>& kept, const LayerStack& stack,
                const std::string& where) {
  const auto refuse = [&](const std::string& what) {
    throw UsageError(str("compress: ", what, ": the ", stack.what, " of ", where, " are 0 to ",
                         stack.layers - 1),
                     "give their numbers in ascending order, as 0,2,4");
  };
  for (const std::int64_t number : kept)
    if (number < 0 || number >= stack.layers) refuse(str("no layer ", number));
  if (std::ranges::adjacent_find(kept, std::greater_equal()) != kept.end())
    refuse(str(join(kept, ","), " does not ascend"));
}

// The numbers; all where nothing is said.
std::vector<std::int64_t> chosen(const LayerChoice& choice, const LayerStack& stack,
                                 const std::string& where) {
  if (!choice.kept.empty() && choice.count)
    throw UsageError(str("compress: which ", stack.what, " stay is said twice"),
                     "give their numbers or how many, not both");
  check_kept(choice.kept, stack, where);
  if (!choice.kept.empty()) return choice.kept;
  const std::int64_t count = choice.count.value_or(stack.layers);
  if (count < 1 || count > stack.layers)
    throw UsageError(
        str("compress: ", count, " ", stack.what, " of ", where, ", which has ", stack.layers),
        "give a number from 1 to that");
  return spread_layers(count, stack.layers);
}

std::uint64_t parameters_in(const LazyTensors& tensors) {
  std::uint64_t count = 0;
  for (const auto& [name, tensor] : tensors)
    count += static_cast<std::uint64_t>(tensor.shape.elements());
  return count;
}

}  // namespace

Pruned prune_model(const PruneJob& job) {
  const SourceFolder source = open_source_folder(job.from);
  refuse_cut(source);
  const std::vector<LayerStack> stacks = layer_stacks(source);
  const bool is_t5 = stacks.size() == 2;
  if (!is_t5 && (!job.decoder_layers.kept.empty() || job.decoder_layers.count))
    throw UsageError(str("compress: ", job.from, " has no decoder"), "leave its layers out");
  CompressedFolder made{.config = source.config, .tensors = source.tensors, .step = {}};
  Pruned out{.stacks = {},
             .parameters_before = parameters_in(source.tensors),
             .bytes_before = source.bytes};
  made.step = {{"method", kMethod}};
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    const auto kept = chosen(i == 0 ? job.layers : job.decoder_layers, stacks[i], job.from);
    keep_layers(made, stacks[i], kept);
    made.step[i == 0 ? "kept_layers" : "kept_decoder_layers"] = kept;
    out.stacks.push_back({stacks[i].what, stacks[i].layers, kept});
  }
  out.parameters = parameters_in(made.tensors);
  if (out.parameters == out.parameters_before)
    throw UsageError(str("compress: nothing of ", job.from, " is to be cut"),
                     "say what stays: --layers 6, --keep-layers 0,2,4");
  out.bytes = write_compressed_folder(job.to, source, made);
  return out;
}

}  // namespace smelt
