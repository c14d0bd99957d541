#include "compress/quantize.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "checkpoint/int8_weights.h"
#include "checkpoint/lazy_files.h"
#include "compress/source_folder.h"
#include "format/int8_rows.h"

namespace smelt {
namespace {

using nlohmann::json;

constexpr std::string_view kWeight = ".weight";

// "bert.pooler.dense" of "bert.pooler.dense.weight".
std::string module_of(const std::string& name) {
  return name.substr(0, name.size() - kWeight.size());
}

bool is_matrix(const std::string& name, const LazyTensor& tensor) {
  return name.ends_with(kWeight) && tensor.shape.rank() == 2 && is_float(tensor.shape.dtype);
}
bool is_distances(const std::string& name) {
  return name.find("relative_attention_bias") != std::string::npos;
}
bool is_table(const std::string& name) {
  return name == "shared.weight" || name.ends_with("_embeddings.weight");
}
bool is_in_layer(const std::string& name) {
  return name.find(".layer.") != std::string::npos && !is_distances(name);
}

// A T5's table once more, as some writers have it.
bool is_copy_of_table(const std::string& name, const SourceFolder& source) {
  return source.kind == CompressKind::t5 && name.ends_with(".embed_tokens.weight") &&
         source.tensors.contains("shared.weight");
}

// Which patterns a module fits; each notes that it did.
class Kept {
 public:
  explicit Kept(const std::vector<std::string>& patterns)
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
        throw UsageError(str("compress: --keep ", patterns_[i], " fits no matrix"),
                         str("they are called as ", example, "; * stands for any text"));
  }

 private:
  const std::vector<std::string>& patterns_;
  std::vector<bool> used_;
};

struct Plan {
  std::vector<std::string> products, tables, kept;  // modules
};

Plan plan_of(const SourceFolder& source, const QuantizeJob& job) {
  Plan plan;
  Kept kept(job.keep);
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
                     "give fewer --keep");
  return plan;
}

json group(const std::vector<std::string>& targets) {
  return {{"targets", targets},
          {"weights",
           {{"num_bits", 8},
            {"type", "int"},
            {"symmetric", true},
            {"strategy", "channel"},
            {"dynamic", false},
            {"observer", "minmax"}}},
          {"input_activations", nullptr},
          {"output_activations", nullptr}};
}

// QuantizationConfig of compressed-tensors. `Linear` is every module of that class; tables are of
// another, and named.
json quantization_config(const Plan& plan, CompressKind kind) {
  json ignore = json::array();
  for (const std::string& module : plan.kept)
    if (!is_table(str(module, kWeight)) && !is_distances(module)) ignore.push_back(module);
  const json head = "lm_head";  // a module also where it is the table
  if (kind == CompressKind::t5 && std::ranges::find(ignore, head) == ignore.end())
    ignore.push_back(head);
  json groups = json::object();
  if (!plan.products.empty()) groups["group_0"] = group({"Linear"});
  if (!plan.tables.empty()) groups[str("group_", groups.size())] = group(plan.tables);
  return {{"quant_method", kQuantMethod},
          {"format", kIntQuantized},
          {"quantization_status", "compressed"},
          {"config_groups", groups},
          {"ignore", ignore},
          {"kv_cache_scheme", nullptr},
          {"global_compression_ratio", nullptr}};
}

double sqnr_of(const LazyTensor& matrix, const CodedTensor& in_codes) {
  const auto read = [](const LazyTensor& tensor, auto kind) {
    const std::vector<std::byte> bytes = tensor.read();
    std::vector<decltype(kind)> out(bytes.size() / sizeof kind);
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  };
  const auto scales = read(in_codes.scales, float{});
  return signal_to_noise_db(
      read(as_dtype(matrix, DType::f32), float{}),
      int8_values(read(in_codes.codes, std::int8_t{}), scales, scales.size()));
}

json step_of(const QuantizeJob& job, const Quantized& done) {
  json loss = json::object();
  for (const Quantized::Tensor& tensor : done.tensors)
    loss[tensor.name] =
        std::isfinite(tensor.sqnr_db) ? json(std::round(tensor.sqnr_db * 100) / 100) : json();
  return {{"method", "weights int8"},
          {"scales", "of each row: max|x| / 127.5; codes rounded half to even, -128 to 127"},
          {"embeddings", job.embeddings},
          {"keep", job.keep},
          {"kept", done.kept},
          {"sqnr_db", loss}};
}

}  // namespace

Quantized quantize_weights(const QuantizeJob& job) {
  const SourceFolder source = open_source_folder(job.from);
  const Plan plan = plan_of(source, job);
  Quantized out{.tensors = {}, .kept = plan.kept, .bytes_before = source.bytes};
  CompressedFolder made{.config = source.config, .tensors = source.tensors, .step = {}};
  std::erase_if(made.tensors,
                [&](const auto& item) { return is_copy_of_table(item.first, source); });
  for (const auto& list : {plan.products, plan.tables})
    for (const std::string& module : list) {
      const std::string name = str(module, kWeight);
      const LazyTensor matrix = source.tensors.at(name);
      const CodedTensor in_codes = coded(matrix, str("compress: ", source.where, ": '", name, "'"));
      out.tensors.push_back({name, sqnr_of(matrix, in_codes)});
      made.tensors[name] = in_codes.codes;
      made.tensors[name + kScaleSuffix] = in_codes.scales;
    }
  std::ranges::sort(out.tensors, {}, &Quantized::Tensor::name);
  made.config[kQuantizationConfig] = quantization_config(plan, source.kind);
  made.step = step_of(job, out);
  out.bytes = write_compressed_folder(job.to, source, made);
  return out;
}

}  // namespace smelt
