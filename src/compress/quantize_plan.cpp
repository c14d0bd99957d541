#include "compress/quantize_plan.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/error.h"
#include "checkpoint/interop/int4_weights.h"
#include "checkpoint/interop/int8_weights.h"

namespace smelt::compress {
namespace {

// Matches modules with the patterns of --keep, and records which patterns have matched.
class KeepPatterns {
 public:
  explicit KeepPatterns(const std::vector<std::string>& patterns)
      : patterns_(patterns), used_(patterns.size(), false) {}
  bool has(const std::string& module) {
    bool found = false;
    for (std::size_t i = 0; i < patterns_.size(); ++i)
      if (::fnmatch(patterns_[i].c_str(), module.c_str(), 0) == 0) found = used_[i] = true;
    return found;
  }
  void check(const std::string& example) const {
    for (std::size_t i = 0; i < patterns_.size(); ++i)
      if (!used_[i])
        throw UsageError(str("compress: --keep ", patterns_[i], " matches no matrix"),
                         str("use a module name such as ", example, "; * matches any text"));
  }

 private:
  const std::vector<std::string>& patterns_;
  std::vector<bool> used_;
};

Json activations_json(Activations activations) {
  if (activations == Activations::by_row) return checkpoint::activations_by_row();
  if (activations == Activations::by_input_scale) return checkpoint::activations_by_input_scale();
  return nullptr;
}

const char* format_of(const QuantizeJob& job) {
  return is_int4(job) ? checkpoint::kPackQuantized : checkpoint::kIntQuantized;
}

// Returns one entry of "config_groups". Since version 0.15 compressed-tensors decodes a group by
// the group's "format" and ignores that of the whole config.
Json group(const std::vector<std::string>& targets, const QuantizeJob& job,
           const Json& activations) {
  Json weights{{"num_bits", is_int4(job) ? 4 : 8},
               {"type", "int"},
               {"symmetric", true},
               {"strategy", is_int4(job) ? "group" : "channel"},
               {"dynamic", false},
               {"observer", "minmax"}};
  if (is_int4(job)) weights["group_size"] = job.group;
  return {{"targets", targets},
          {"format", format_of(job)},
          {"weights", weights},
          {"input_activations", activations},
          {"output_activations", nullptr}};
}

}  // namespace

QuantizePlan plan_of(const SourceFolder& source, const QuantizeJob& job) {
  QuantizePlan plan;
  KeepPatterns kept(job.keep);
  std::string example;
  for (const auto& [name, tensor] : source.tensors) {
    if (!is_matrix(name, tensor) || is_copy_of_table(name, source)) continue;
    const std::string module = module_of(name);
    if (is_in_layer(name)) example = module;
    const bool table = is_table(name);
    const bool wanted = is_in_layer(name) || (table && job.embeddings);
    auto& list = kept.has(module) || !wanted ? plan.kept : table ? plan.tables : plan.products;
    list.push_back(module);
  }
  kept.check(example);
  if (plan.products.empty() && plan.tables.empty())
    throw UsageError(str("compress: ", source.where, ": no matrix is left to quantize"),
                     "remove some --keep patterns");
  return plan;
}

Json quantization_config(const QuantizePlan& plan, CompressKind kind, const QuantizeJob& job) {
  Json ignore = Json::array();
  for (const std::string& module : plan.kept)
    if (!is_table(str(module, kWeight)) && !is_position_bias(module)) ignore.push_back(module);
  // transformers has this module even if the output is tied to the embeddings.
  const Json head = "lm_head";
  if (kind == CompressKind::t5 && std::ranges::find(ignore, head) == ignore.end())
    ignore.push_back(head);
  Json groups = Json::object();
  if (!plan.products.empty())
    groups["group_0"] = group({"Linear"}, job, activations_json(job.activations));
  if (!plan.tables.empty()) groups[str("group_", groups.size())] = group(plan.tables, job, nullptr);
  Json out{{"quant_method", checkpoint::kQuantMethod},
           {"format", format_of(job)},
           {"quantization_status", "compressed"},
           {"config_groups", groups},
           {"ignore", ignore},
           {"kv_cache_scheme", nullptr},
           {"global_compression_ratio", nullptr}};
  // transformers decodes weights in the first forward pass of the whole model, but generate() of a
  // T5 starts with the encoder alone. These settings make transformers decode on load: "dequantize"
  // in version 5, "run_compressed" in version 4.
  if (kind == CompressKind::t5) out.update(Json{{"dequantize", true}, {"run_compressed", false}});
  return out;
}

}  // namespace smelt::compress
