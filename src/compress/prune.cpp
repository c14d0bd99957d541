#include "compress/prune.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/plural.h"
#include "checkpoint/interop/cut_heads.h"
#include "checkpoint/interop/folder_weights.h"
#include "compress/cut_tensors.h"
#include "compress/mac_budget.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::compress {
namespace {

constexpr const char* kMethod = "prune";

void check_not_pruned(const SourceFolder& source) {
  for (const Json& step : source.steps)
    if (step.is_object() && step.value("method", "") == kMethod)
      throw UsageError(str("compress: ", source.where, " is already pruned"),
                       "prune the original model with all options at once, or train it first");
}

void check_kept(const std::vector<std::int64_t>& kept, const LayerStack& stack,
                const std::string& where) {
  const auto refuse = [&](const std::string& what) {
    throw UsageError(str("compress: ", what, ": the ", stack.what, " of ", where, " are 0 to ",
                         stack.layers - 1),
                     "give their numbers in ascending order, such as 0,2,4");
  };
  for (const std::int64_t number : kept)
    if (number < 0 || number >= stack.layers) refuse(str("no layer ", number));
  if (std::ranges::adjacent_find(kept, std::greater_equal()) != kept.end())
    refuse(str(join(kept, ","), " is not in ascending order"));
  const checkpoint::LayerModules& modules = stack.modules;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (const auto place = static_cast<std::int64_t>(i);
        (kept[i] - place) % modules.period != 0 ||
        (i == 0 && modules.first_differs && kept[i] != 0))
      throw UsageError(
          str("compress: layer ", kept[i], " of ", where, " cannot become layer ", i,
              i == 0 ? ": layer 0 must be kept"
                     : str(": one in ", modules.period, " layers attends to all tokens")),
          str("keep layers such as ",
              join(spread_layers(std::ssize(kept), stack.layers, modules.period), ",")));
}

Json chosen_by(const PruneData& data) {
  Json out = rows_json(data);
  out["method"] = "fisher";
  return out;
}

// Returns the settings of a job that determine its result, as JSON, without paths.
Json settings_json(const PruneJob& job) {
  const auto layers = [](const LayerChoice& choice) {
    return choice.count ? Json(*choice.count) : Json(choice.kept);
  };
  const PruneData& data = job.data;
  Json out{{"layers", layers(job.layers)},
           {"decoder_layers", layers(job.decoder_layers)},
           {"ffn", job.ffn},
           {"heads", job.heads},
           {"rescale", job.rescale},
           {"rows", data.rows.input.empty()
                        ? Json()
                        : Json{{"fields", {data.rows.text, data.rows.pair, data.rows.label}},
                               {"prefix", data.prefix ? Json(*data.prefix) : Json()},
                               {"seq_length", data.seq_length},
                               {"target_length", data.target_length},
                               {"chosen_by", chosen_by(data)}}}};
  if (job.macs < 1) out["macs"] = job.macs;
  return out;
}

// Returns the layers to keep; all by default.
std::vector<std::int64_t> layers_to_keep(const LayerChoice& choice, const LayerStack& stack,
                                         const std::string& where) {
  if (!choice.kept.empty() && choice.count)
    throw UsageError(
        str("compress: the ", stack.what, " to keep are given both as a list and as a count"),
        "give only one of the two");
  check_kept(choice.kept, stack, where);
  if (!choice.kept.empty()) return choice.kept;
  const std::int64_t count = choice.count.value_or(stack.layers);
  if (count < 1 || count > stack.layers)
    throw UsageError(
        str("compress: cannot keep ", count, " ", stack.what, ": ", where, " has ", stack.layers),
        str("give a number from 1 to ", stack.layers));
  return spread_layers(count, stack.layers, stack.modules.period);
}

bool prunes_units(const PruneJob& job) { return job.ffn < 1 || job.heads < 1 || job.macs < 1; }

void check_units(const PruneJob& job) {
  for (const auto& [flag, share] :
       {std::pair{"--ffn", job.ffn}, {"--heads", job.heads}, {"--macs", job.macs}})
    if (!(share > 0 && share <= 1))
      throw UsageError(str("compress: ", flag, " ", share, ": must be above 0 and at most 1"),
                       "give the share to keep, such as 0.5");
  if (job.macs < 1 && (job.ffn < 1 || job.heads < 1))
    throw UsageError("compress: --macs cannot be combined with --ffn or --heads",
                     "remove --macs, or remove --ffn and --heads");
  const bool has_rows = !job.data.rows.input.empty();
  if (prunes_units(job) && !has_rows)
    throw UsageError(str("compress: ", job.macs < 1 ? "--macs needs" : "--ffn and --heads need",
                         " labelled rows to choose units, but --input is missing"),
                     "give rows that the model was trained on with --input");
  if (has_rows && !prunes_units(job))
    throw UsageError("compress: --input without --ffn, --heads or --macs",
                     "remove --input: removing layers does not need data");
}

// One kind of unit: the share to keep, the groups, and the config field with their number.
struct UnitKind {
  std::string what;
  const char* field;
  double share = 1;
  std::int64_t step = 1;
  std::vector<PruneGroup> groups;
};

std::vector<UnitKind> unit_kinds(const PruneJob& job, const SourceFolder& source,
                                 const CompressedFolder& folder,
                                 const std::vector<LayerStack>& stacks,
                                 const std::vector<std::vector<std::int64_t>>& kept_layers) {
  constexpr std::int64_t kNeuronStep = 128;  // tile size of a TPU
  const bool is_t5 = source.kind == CompressKind::t5;
  std::vector<UnitKind> out;
  if (job.ffn < 1 || job.macs < 1)
    out.push_back({"neurons", is_t5 ? "d_ff" : "intermediate_size", job.ffn, kNeuronStep,
                   of_layers(ffn_groups(folder, stacks), kept_layers)});
  if (job.heads < 1 || job.macs < 1) {
    if (!is_t5 && stacks.front().modules.heads.output.empty())
      throw UsageError(str("compress: ", source.where,
                           ": the heads of this kind of model cannot be "
                           "pruned"),
                       "remove --heads and --macs; use --ffn or --layers");
    out.push_back({"heads", is_t5 ? "num_heads" : checkpoint::kPrunedHeads, job.heads, 1,
                   of_layers(head_groups(folder, stacks), kept_layers)});
  }
  return out;
}

double share_of(const std::vector<double>& values, const std::vector<std::int64_t>& kept) {
  double all = 0, of_kept = 0;
  for (const double value : values) all += value;
  for (const std::int64_t i : kept) of_kept += values[static_cast<std::size_t>(i)];
  return all == 0 ? 1 : of_kept / all;
}

// Writes the remaining number of units, or the list of pruned heads, to the config.
void set_units(const UnitKind& kind, std::span<const std::vector<std::int64_t>> kept,
               std::int64_t after, Json& config) {
  if (kind.field != std::string_view(checkpoint::kPrunedHeads)) {
    config[kind.field] = after;
    return;
  }
  for (std::size_t i = 0; i < kept.size(); ++i)
    checkpoint::keep_heads(config, kind.groups[i].products.front().layer, kept[i]);
}

// Rescales the remaining units of a kind, and reports the errors before and after.
void rescale(const UnitKind& kind, std::vector<MaskScales>::const_iterator& next,
             CompressedFolder& made, Pruned::Units& report) {
  for (const PruneGroup& group : kind.groups)
    for (const PruneTarget& product : group.products) {
      const MaskScales& scales = *next++;
      scale_units(made, group, product, scales.factors);
      report.lost_before.push_back(scales.lost_before);
      report.lost.push_back(scales.lost);
      if (!scales.taken) ++report.not_rescaled;
    }
}

Json units_json(const Pruned::Units& units) {
  Json out{
      {"before", units.before}, {"after", units.after}, {"kept_importance", units.kept_importance}};
  if (!units.kept.empty()) {
    out["importance"] = units.importance;
    out["kept"] = units.kept;
  }
  if (!units.lost.empty())
    out["output_lost"] = {
        {"before", units.lost_before}, {"after", units.lost}, {"not_rescaled", units.not_rescaled}};
  return out;
}

// Returns the numbers of neurons and heads to keep in each layer within the MAC budget.
std::vector<std::int64_t> counts_within(const PruneJob& job, const CompressedFolder& folder,
                                        const std::vector<UnitKind>& kinds,
                                        std::span<const std::vector<double>> importances,
                                        Pruned& out) {
  const MacLengths lengths{
      .text = job.data.seq_length > 0 ? job.data.seq_length : MacLengths().text,
      .answer = job.data.target_length};
  std::vector<UnitCosts> costs;
  double all = 0;
  for (const UnitKind& kind : kinds) {
    double macs = 0;
    for (const PruneGroup& group : kind.groups) macs += unit_macs(folder, group, lengths);
    const std::int64_t units = kind.groups.front().units;
    costs.push_back(
        unit_costs(importances.first(kind.groups.size()), step_within(units, kind.step), macs));
    importances = importances.subspan(kind.groups.size());
    all += macs * static_cast<double>(units);
  }
  const UnitCounts counts = within_macs(costs[1], costs[0], job.macs * all);
  out.macs = (static_cast<double>(counts.neurons) * costs[0].macs +
              static_cast<double>(counts.heads) * costs[1].macs) /
             all;
  return {counts.neurons, counts.heads};
}

std::vector<std::int64_t> unit_counts(const PruneJob& job, const CompressedFolder& folder,
                                      const std::vector<UnitKind>& kinds,
                                      const std::vector<std::vector<double>>& importances,
                                      Pruned& out) {
  if (job.macs < 1) return counts_within(job, folder, kinds, importances, out);
  std::vector<std::int64_t> counts;
  for (const UnitKind& kind : kinds)
    counts.push_back(width_for(kind.share, kind.groups.front().units, kind.step));
  return counts;
}

void prune_units(const PruneJob& job, const SourceFolder& source,
                 const std::vector<LayerStack>& stacks,
                 const std::vector<std::vector<std::int64_t>>& kept_layers, CompressedFolder& made,
                 Pruned& out) {
  if (!prunes_units(job)) return;
  const std::vector<UnitKind> kinds = unit_kinds(job, source, made, stacks, kept_layers);
  std::vector<PruneGroup> groups;
  for (const UnitKind& kind : kinds)
    groups.insert(groups.end(), kind.groups.begin(), kind.groups.end());
  const PruneRows rows(source, job.data);
  const auto importances = rows.importances(groups);
  const auto counts = unit_counts(job, made, kinds, importances, out);
  auto after = counts.begin();
  std::vector<std::vector<std::int64_t>> kept;
  for (const UnitKind& kind : kinds) {
    const std::int64_t units = kind.groups.front().units;
    out.units.push_back(
        {.what = kind.what, .before = units, .after = *after++, .kept_importance = {}});
    for (std::size_t i = 0; i < kind.groups.size(); ++i) {
      const auto& importance = importances[kept.size()];
      kept.push_back(largest(importance, out.units.back().after));
      out.units.back().kept_importance.push_back(share_of(importance, kept.back()));
      if (units > Pruned::kMaxReportedUnits) continue;
      out.units.back().importance.push_back(importance);
      out.units.back().kept.push_back(kept.back());
    }
  }
  const auto scales = job.rescale ? rows.scales(groups, kept) : std::vector<MaskScales>();
  for (std::size_t i = 0; i < groups.size(); ++i) keep_units(made, groups[i], kept[i]);
  std::span<const std::vector<std::int64_t>> of_kind(kept);
  auto next = scales.begin();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    Pruned::Units& report = out.units[i];
    set_units(kinds[i], of_kind.first(kinds[i].groups.size()), report.after, made.config);
    of_kind = of_kind.subspan(kinds[i].groups.size());
    if (job.rescale) rescale(kinds[i], next, made, report);
    made.step[report.what] = units_json(report);
  }
  if (out.macs) made.step["macs"] = *out.macs;
  made.step["chosen_by"] = chosen_by(job.data);
}

std::uint64_t parameters_in(const io::LazyTensors& tensors) {
  std::uint64_t count = 0;
  for (const auto& [name, tensor] : tensors)
    count += static_cast<std::uint64_t>(tensor.shape.elements());
  return count;
}

}  // namespace

bool is_already_pruned(const PruneJob& job) {
  const std::string path = io::join_path(job.to, checkpoint::kCompressedFile);
  if (!io::exists(path)) return false;
  const Json file = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  const Json steps = file.is_object() ? file.value("steps", Json()) : Json();
  if (!steps.is_array() || steps.empty() || !steps.back().is_object()) return false;
  const Json& step = steps.back();
  if (step.value("method", Json()) != kMethod || step.value("asked", Json()) != settings_json(job))
    return false;
  const SourceFolder source = open_source_folder(job.from);
  const Json from = step.value("from", Json());
  return steps.size() == source.steps.size() + 1 && from.is_object() &&
         from.value("weights_crc32c", Json()) ==
             crc32c_of_files(checkpoint::weights_files(source.folder));
}

Pruned prune_model(const PruneJob& job) {
  (void)io::OutputDirectory(job.to);  // fails early if `to` is not empty
  const SourceFolder source = open_source_folder(job.from);
  check_not_pruned(source);
  const std::vector<LayerStack> stacks = layer_stacks(source);
  const bool is_t5 = stacks.size() == 2;
  if (!is_t5 && (!job.decoder_layers.kept.empty() || job.decoder_layers.count))
    throw UsageError(str("compress: ", job.from, " has no decoder"), "remove --decoder-layers");
  check_units(job);
  CompressedFolder made{.config = source.config, .tensors = source.tensors, .step = {}};
  Pruned out{.stacks = {},
             .units = {},
             .parameters_before = parameters_in(source.tensors),
             .bytes_before = source.bytes};
  made.step = {{"method", kMethod}, {"asked", settings_json(job)}};
  std::vector<std::vector<std::int64_t>> kept_layers;
  for (std::size_t i = 0; i < stacks.size(); ++i)
    kept_layers.push_back(
        layers_to_keep(i == 0 ? job.layers : job.decoder_layers, stacks[i], job.from));
  prune_units(job, source, stacks, kept_layers, made, out);
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    const auto& kept = kept_layers[i];
    keep_layers(made, stacks[i], kept);
    made.step[i == 0 ? "kept_layers" : "kept_decoder_layers"] = kept;
    out.stacks.push_back({stacks[i].what, stacks[i].layers, kept});
  }
  out.parameters = parameters_in(made.tensors);
  if (out.parameters == out.parameters_before)
    throw UsageError(str("compress: nothing to prune in ", job.from,
                         ": no option removes layers, heads or neurons"),
                     "choose what to keep, such as --layers 6 or --keep-layers 0,2,4");
  out.bytes = write_compressed_folder(job.to, source, made);
  return out;
}

}  // namespace smelt::compress
