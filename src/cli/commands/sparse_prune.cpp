#include "cli/commands/sparse_prune.h"

#include <algorithm>
#include <array>
#include <iostream>

#include "base/error.h"
#include "base/json.h"
#include "base/nearest_name.h"
#include "cli/commands/cmd_distill.h"
#include "cli/commands/sizes_text.h"
#include "io/filesystem/file.h"
#include "model/optim/pruning.h"

namespace smelt::cli {
namespace {

constexpr const char *kSparsity = "--sparsity", *kNm = "--nm", *kMethod = "--method",
                     *kMagnitude = "magnitude", *kSoft = "soft", *kPenalty = "--penalty";

double zeros_of(const compress::Sparsified::Tensor& tensor) {
  return share(tensor.weights - tensor.not_zero, tensor.weights);
}

OrderedJson sparse_json(const compress::SparsifyJob& job, const compress::Sparsified& done) {
  OrderedJson zeros = OrderedJson::object();
  for (const compress::Sparsified::Tensor& tensor : done.tensors)
    zeros[tensor.name] = zeros_of(tensor);
  return {{"out", job.to},
          {"bytes_before", done.bytes_before},
          {"bytes", done.bytes},
          {"weights", done.weights},
          {"not_zero", done.not_zero},
          {"parameters", done.parameters},
          {"zeros", zeros}};
}

void check_method(const std::string& method) {
  const std::array<std::string, 4> known{"fisher", kMagnitude, model::kMovement, kSoft};
  if (method.empty() || std::ranges::find(known, method) != known.end()) return;
  throw UsageError(str("compress: ", kMethod, " ", method, ": unknown method"),
                   did_you_mean(method, known));
}

// Throws UsageError for methods that need training, and for flags that such a method does not have.
void check_movement(const compress::SparsifyJob& job, const CLI::App& command) {
  if (command.count("--tune") == 0)
    throw UsageError(
        str("compress: ", kMethod, " ", job.by, " without --tune: the method needs training"),
        "name a new folder for the training with --tune, or use --method magnitude");
  if (job.by == kSoft && (job.nm || job.sparsity))
    throw UsageError(str("compress: ", kMethod, " soft with ", job.nm ? kNm : kSparsity,
                         ": the sparsity follows from ", kPenalty),
                     str("remove it, or use ", kMethod, " movement"));
  if (job.nm)
    throw UsageError("compress: --method movement with --nm: N:M sparsity is by magnitude",
                     "use --sparsity, or --method magnitude");
}

void refuse_together(const CLI::App& command, const std::string& asked) {
  for (const char* cut : {"--layers", "--keep-layers", "--decoder-layers", "--keep-decoder-layers",
                          "--ffn", "--heads", "--macs", "--input"})
    if (command.count(cut) > 0)
      throw UsageError(
          str("compress: ", cut, " removes parts of a model and cannot be combined with ", asked),
          "prune the structure first, then run the command again on the result");
  for (const char* rows : {"--no-rescale", "--format", "--header", "--field", "--pair-field",
                           "--label-field", "--prefix", "--seq-length", "--target-length",
                           "--examples", "--batch", "--seed", "--device"})
    if (command.count(rows) > 0)
      throw UsageError(str("compress: ", rows, " with ", asked, ", which uses no rows"),
                       str("remove ", rows));
}

// Trains the model with gradually increasing sparsity before it is written.
void learn_with_zeros(compress::SparsifyJob& job, const SparseRun& run) {
  if (run.folder.empty()) return;
  compress::check_sparsity(job);
  (void)io::OutputDirectory(job.to);  // throws if the folder exists, before anything is trained
  // The best checkpoint may have fewer zeros, and a run that stops early may have too few.
  std::vector<std::string> settings{"eval.best=false"};
  if (!job.nm) settings.emplace_back("train.early_stopping.patience=0");
  settings.insert(settings.end(), run.settings.begin(), run.settings.end());
  // All three are set, because the model's own recipe may have other values.
  settings.push_back("train.pruning.nm=" + (job.nm ? model::nm_text(*job.nm) : std::string()));
  settings.push_back(str("train.pruning.sparsity=", Json(job.sparsity.value_or(0)).dump()));
  settings.push_back("train.pruning.method=" + job.by);
  if (job.by == kSoft) settings.push_back(str("train.pruning.penalty=", Json(run.penalty).dump()));
  teach_itself(job.from, run.folder, settings);
  job.is_tuned = true;
  job.from = run.folder;
}

}  // namespace

void add_sparse_flags(CLI::App& command, SparseFlags& f) {
  command.add_option(
      kMethod, f.method,
      "fisher: remove the neurons and heads with the least effect on the loss. The other methods "
      "set weights to 0, for a smaller but NOT faster model: magnitude: the smallest weights; "
      "movement (with --tune): the weights that training moves towards 0; soft (with --tune): as "
      "movement, but --penalty determines how many");
  command
      .add_option(kPenalty, f.penalty,
                  "with soft: strength of the penalty; a higher value sets more weights to 0; find "
                  "the value for a sparsity by experiment")
      ->capture_default_str();
  command.add_option(
      kSparsity, f.sparsity,
      "share of the attention and feed-forward weights, over all layers together, to set "
      "to 0");
  command.add_option(
      kNm, f.nm,
      "with magnitude, instead of --sparsity: N:M sparsity, such as 2:4: keep N of each M "
      "neighbouring inputs of an output");
}

std::optional<compress::SparsifyJob> sparse_job(const SparseFlags& f, const CLI::App& command,
                                                const std::string& from, const std::string& to) {
  check_method(f.method);
  const bool has_share = command.count(kSparsity) > 0, has_nm = command.count(kNm) > 0;
  const bool of_weights =
      f.method == kMagnitude || f.method == model::kMovement || f.method == kSoft;
  if (command.count(kPenalty) > 0 && f.method != kSoft)
    throw UsageError(str("compress: ", kPenalty, ": requires ", kMethod, " soft"), "remove it");
  if (!has_share && !has_nm && !of_weights) return std::nullopt;
  const std::string asked = has_share ? kSparsity : has_nm ? kNm : str(kMethod, " ", f.method);
  if (!f.method.empty() && !of_weights)
    throw UsageError(str("compress: ", asked, " with ", kMethod, " ", f.method,
                         ", which removes neurons and heads"),
                     "use --method magnitude, or --ffn and --heads");
  refuse_together(command, asked);
  compress::SparsifyJob job{.from = from, .to = to};
  if (has_share) job.sparsity = f.sparsity;
  if (has_nm) job.nm = model::parse_nm(f.nm, str("compress: ", kNm));
  if (!f.method.empty()) job.by = f.method;
  if (job.by == model::kMovement || job.by == kSoft) check_movement(job, command);
  return job;
}

void make_sparse(compress::SparsifyJob job, const SparseRun& run, bool json) {
  learn_with_zeros(job, run);
  const compress::Sparsified done = compress::sparsify_model(job);
  if (json) {
    std::cout << sparse_json(job, done).dump() << "\n";
    return;
  }
  const std::uint64_t zeros = done.weights - done.not_zero;
  std::cout << job.to << ": " << zeros << " of " << done.weights << " weights of "
            << done.tensors.size() << " matrices are 0 (" << percent(share(zeros, done.weights))
            << "), " << percent(share(zeros, done.parameters)) << " of all " << done.parameters
            << " parameters; " << sizes_text(done.bytes_before, done.bytes) << "\n";
  const auto most = std::ranges::max_element(done.tensors, {}, zeros_of);
  std::cout
      << "  most zeros: " << most->name << ", " << percent(zeros_of(*most)) << "\n"
      << "  a smaller file, NOT a faster model: zeros are multiplied like other numbers\n"
      << "  only smelt reads this folder; for other programs use a run's huggingface/ or an ONNX "
         "file: docs/guides/compress.md\n";
}

}  // namespace smelt::cli
