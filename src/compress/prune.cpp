#include "compress/prune.h"

#include <algorithm>

#include "base/error.h"
#include "base/words.h"
#include "compress/cut_tensors.h"
#include "store/file.h"

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

bool cuts_units(const PruneJob& job) { return job.ffn < 1 || job.heads < 1; }

void check_units(const PruneJob& job, const SourceFolder& source) {
  for (const auto& [flag, share] : {std::pair{"--ffn", job.ffn}, {"--heads", job.heads}})
    if (!(share > 0 && share <= 1))
      throw UsageError(str("compress: ", flag, " ", share, " is no share of what there is"),
                       "give a number above 0, at most 1");
  if (job.heads < 1 && source.kind != CompressKind::t5)
    throw UsageError(str("compress: the heads of ", source.where, " cannot be cut: its class in ",
                         "transformers takes hidden_size / heads for the width of one"),
                     "cut neurons (--ffn) and layers (--layers); heads of a T5 can be cut");
  const bool has_rows = !job.data.rows.input.empty();
  if (cuts_units(job) && !has_rows)
    throw UsageError("compress: --ffn and --heads choose by labelled rows, and none are given",
                     "name those that the model was trained on with --input");
  if (has_rows && !cuts_units(job))
    throw UsageError("compress: --input without --ffn or --heads", "layers need no rows");
}

// One kind of units: of a share, the groups, and what the config calls their number.
struct UnitKind {
  std::string what;
  const char* field;
  double share = 1;
  std::int64_t step = 1;
  std::vector<CutGroup> groups;
};

std::vector<UnitKind> unit_kinds(const PruneJob& job, const SourceFolder& source,
                                 const CompressedFolder& folder,
                                 const std::vector<LayerStack>& stacks) {
  constexpr std::int64_t kNeuronStep = 128;  // what a TPU computes side by side
  const bool is_t5 = source.kind == CompressKind::t5;
  std::vector<UnitKind> out;
  if (job.ffn < 1)
    out.push_back({"neurons", is_t5 ? "d_ff" : "intermediate_size", job.ffn, kNeuronStep,
                   ffn_groups(folder, stacks)});
  if (job.heads < 1)
    out.push_back({"heads", "num_heads", job.heads, 1, head_groups(folder, stacks)});
  return out;
}

double share_of(const std::vector<double>& values, const std::vector<std::int64_t>& kept) {
  double all = 0, of_kept = 0;
  for (const double value : values) all += value;
  for (const std::int64_t i : kept) of_kept += values[static_cast<std::size_t>(i)];
  return all == 0 ? 1 : of_kept / all;
}

void cut_units(const PruneJob& job, const SourceFolder& source,
               const std::vector<LayerStack>& stacks, CompressedFolder& made, Pruned& out) {
  if (!cuts_units(job)) return;
  const std::vector<UnitKind> kinds = unit_kinds(job, source, made, stacks);
  std::vector<CutGroup> groups;
  for (const UnitKind& kind : kinds)
    groups.insert(groups.end(), kind.groups.begin(), kind.groups.end());
  const auto found = importances(source, job.data, groups);
  auto importance = found.begin();
  for (const UnitKind& kind : kinds) {
    const std::int64_t units = kind.groups.front().units;
    const std::int64_t after = width_for(kind.share, units, kind.step);
    Pruned::Units told{.what = kind.what, .before = units, .after = after, .kept_importance = {}};
    for (const CutGroup& group : kind.groups) {
      const auto kept = largest(*importance, after);
      told.kept_importance.push_back(share_of(*importance++, kept));
      keep_units(made, group, kept);
    }
    made.config[kind.field] = after;
    made.step[kind.what] = {
        {"before", units}, {"after", after}, {"kept_importance", told.kept_importance}};
    out.units.push_back(std::move(told));
  }
  made.step["chosen_by"] = {
      {"method", "fisher"},
      {"input", job.data.rows.input},
      {"input_crc32c", crc32c_of_files(expand_files(job.data.rows.input, "--input"))},
      {"examples", job.data.examples},
      {"batch", job.data.batch_size},
      {"seed", job.data.seed}};
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
  check_units(job, source);
  CompressedFolder made{.config = source.config, .tensors = source.tensors, .step = {}};
  Pruned out{.stacks = {},
             .units = {},
             .parameters_before = parameters_in(source.tensors),
             .bytes_before = source.bytes};
  made.step = {{"method", kMethod}};
  std::vector<std::vector<std::int64_t>> kept_layers;
  for (std::size_t i = 0; i < stacks.size(); ++i)
    kept_layers.push_back(chosen(i == 0 ? job.layers : job.decoder_layers, stacks[i], job.from));
  cut_units(job, source, stacks, made, out);
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    const auto& kept = kept_layers[i];
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
