#include "compress/sparsify.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/number_format.h"
#include "checkpoint/interop/decoded.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/interop/sparse_weights.h"
#include "checkpoint/storage/lazy_files.h"
#include "compress/matrix_names.h"
#include "compress/source_folder.h"
#include "io/filesystem/folder.h"
#include "model/optim/pruning.h"

namespace smelt::compress {
namespace {

bool is_soft(const SparsifyJob& job) { return job.by == "soft"; }

// A matrix with most values set to 0.
struct SparseMatrix {
  std::string module;
  io::LazyTensor matrix;
  std::uint64_t not_zero = 0;
};

}  // namespace

void check_sparsity(const SparsifyJob& job) {
  if (is_soft(job)) return;
  if (job.sparsity.has_value() == job.nm.has_value())
    throw UsageError(job.nm ? "compress: --sparsity and --nm cannot be combined"
                            : str("compress: --method ", job.by, " needs --sparsity or --nm"),
                     job.nm ? "give one of them"
                            : "give --sparsity 0.9, the share of weights to set to 0, or --nm 2:4");
  if (job.sparsity && !(*job.sparsity > 0 && *job.sparsity < 1))
    throw UsageError(str("compress: --sparsity ", *job.sparsity, ": must be above 0 and below 1"),
                     "give the share of weights to set to 0, such as 0.9");
}

namespace {

// The matrices of attention and feed-forward.
class LayerMatrices {
 public:
  explicit LayerMatrices(const SourceFolder& source) : source_(source) {
    for (const auto& [name, tensor] : source.tensors)
      if (is_matrix(name, tensor) && is_in_layer(name)) names_.push_back(name);
    if (names_.empty())
      throw UsageError(
          str("compress: ", source.where, ": has no attention or feed-forward weights"),
          "use a BERT, ELECTRA or T5 model");
  }
  const std::vector<std::string>& names() const { return names_; }
  const compiler::Shape& shape(const std::string& name) const {
    return source_.tensors.at(name).shape;
  }
  std::string what(const std::string& name) const {
    return str("compress: ", source_.where, ": '", name, "'");
  }
  std::uint64_t weights(const std::string& name) const {
    return static_cast<std::uint64_t>(shape(name).elements());
  }
  std::vector<float> values(const std::string& name) const {
    return checkpoint::finite_values(source_.tensors.at(name), what(name));
  }
  // Returns whether at most `not_zero` values of all matrices together are nonzero.
  bool has_at_most(std::uint64_t not_zero) const {
    std::uint64_t found = 0;
    for (const std::string& name : names_) {
      const std::vector<float> all = values(name);
      found += all.size() - static_cast<std::uint64_t>(std::ranges::count(all, 0.0F));
    }
    return found <= not_zero;
  }
  template <class Keep>
  SparseMatrix sparse(const std::string& name, std::uint64_t not_zero, Keep keep) const {
    const io::LazyTensor plain{{compiler::DType::f32, shape(name).dims},
                               [matrix = source_.tensors.at(name), what = what(name), keep] {
                                 std::vector<float> values =
                                     checkpoint::finite_values(matrix, what);
                                 keep(std::span(values));
                                 return checkpoint::bytes_of_values(values);
                               }};
    return {module_of(name), checkpoint::as_dtype(plain, shape(name).dtype), not_zero};
  }

 private:
  const SourceFolder& source_;
  std::vector<std::string> names_;
};

std::vector<SparseMatrix> by_share(const LayerMatrices& all, double sparsity) {
  std::uint64_t weights = 0;
  for (const std::string& name : all.names()) weights += all.weights(name);
  const MagnitudeThreshold cut = magnitude_cut(
      [&](const auto& take) {
        for (const std::string& name : all.names()) take(all.values(name));
      },
      model::kept_of(weights, sparsity));
  std::vector<SparseMatrix> out;
  for (std::size_t i = 0; i < all.names().size(); ++i)
    out.push_back(all.sparse(all.names()[i], cut.not_zero[i],
                             [least = cut.least, of_equal = cut.of_equal[i]](auto values) {
                               keep_largest(values, least, of_equal);
                             }));
  return out;
}

std::vector<SparseMatrix> with_own_zeros(const LayerMatrices& all) {
  std::vector<SparseMatrix> out;
  for (const std::string& name : all.names()) {
    const auto zeros = static_cast<std::uint64_t>(std::ranges::count(all.values(name), 0.0F));
    out.push_back(all.sparse(name, all.weights(name) - zeros, [](std::span<float>) {}));
  }
  return out;
}

std::vector<SparseMatrix> by_pattern(const LayerMatrices& all, const model::NmPattern& nm) {
  for (const std::string& name : all.names())
    if (all.shape(name).dims[1] % nm.of != 0)
      throw UsageError(str(all.what(name), " is ", all.shape(name), ", cannot divide its ",
                           all.shape(name).dims[1], " inputs into groups of ", nm.of, " (--nm ",
                           model::nm_text(nm), ")"),
                       "choose another --nm, or a share of all weights: --sparsity 0.5");
  std::vector<SparseMatrix> out;
  for (const std::string& name : all.names()) {
    std::vector<float> values = all.values(name);
    keep_n_of_m(values, nm);
    const auto zeros = static_cast<std::uint64_t>(std::ranges::count(values, 0.0F));
    out.push_back(all.sparse(name, values.size() - zeros,
                             [nm](std::span<float> left) { keep_n_of_m(left, nm); }));
  }
  return out;
}

// Returns the "sparsity_config" of config.json in compressed-tensors' terms. The target "Linear"
// covers every module of that class.
Json sparsity_config(const SourceFolder& source, const SparsifyJob& job) {
  Json ignore = Json::array();
  for (const auto& [name, tensor] : source.tensors)
    if (is_matrix(name, tensor) && !is_in_layer(name) && !is_table(name) &&
        !is_position_bias(name) && !is_copy_of_table(name, source))
      ignore.push_back(module_of(name));
  // transformers has this module even if the output is tied to the embeddings.
  const Json head = "lm_head";
  if (source.kind == CompressKind::t5 && std::ranges::find(ignore, head) == ignore.end())
    ignore.push_back(head);
  return {{"format", checkpoint::kSparseBitmask},
          {"targets", {"Linear"}},
          {"ignore", ignore},
          {"sparsity_structure", job.nm ? model::nm_text(*job.nm) : "unstructured"}};
}

Json step_json(const SparsifyJob& job, const Sparsified& done) {
  Json zeros = Json::object();
  for (const Sparsified::Tensor& tensor : done.tensors)
    zeros[tensor.name] = tensor.weights - tensor.not_zero;
  Json out{{"method", "sparse"},
           {"by", job.by},
           {"weights", done.weights},
           {"not_zero", done.not_zero},
           {"parameters", done.parameters},
           {"zeros", zeros}};
  if (job.sparsity) out["sparsity"] = *job.sparsity;
  if (job.nm) out["nm"] = model::nm_text(*job.nm);
  return out;
}

}  // namespace

Sparsified sparsify_model(const SparsifyJob& job) {
  check_sparsity(job);
  (void)io::OutputDirectory(job.to);  // fails early if `to` is not empty
  const SourceFolder source = open_source_folder(job.from);
  const LayerMatrices all(source);
  const std::vector<SparseMatrix> left = is_soft(job) ? with_own_zeros(all)
                                         : job.nm     ? by_pattern(all, *job.nm)
                                                      : by_share(all, *job.sparsity);
  CompressedFolder made{.config = source.config, .tensors = source.tensors, .step = {}};
  Sparsified out{.tensors = {}, .bytes_before = source.bytes};
  for (const auto& [name, tensor] : source.tensors)
    if (!is_copy_of_table(name, source))
      out.parameters += static_cast<std::uint64_t>(tensor.shape.elements());
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::string& name = all.names()[i];
    made.tensors.erase(name);
    for (const auto& [part, tensor] :
         checkpoint::bitmask_tensors(left[i].matrix, static_cast<std::int64_t>(left[i].not_zero)))
      made.tensors[str(left[i].module, ".", part)] = tensor;
    out.tensors.push_back({name, all.weights(name), left[i].not_zero});
    out.weights += out.tensors.back().weights;
    out.not_zero += left[i].not_zero;
  }
  // Without "quant_method" every version of transformers rejects the folder. With any value, some
  // versions would leave these matrices at random values: compressed-tensors has not decoded sparse
  // weights since 0.15, and transformers ignores unknown methods.
  made.config[checkpoint::kQuantizationConfig] = {
      {checkpoint::kSparsityConfig, sparsity_config(source, job)}};
  made.step = step_json(job, out);
  // The model also counts as trained with its zeros if almost all of them were there before. The
  // tolerance allows for several weights equal to the threshold.
  if (job.is_tuned || all.has_at_most(out.not_zero + out.weights / 100'000))
    made.step["tuned"] = true;
  out.bytes = write_compressed_folder(job.to, source, made);
  return out;
}

}  // namespace smelt::compress
