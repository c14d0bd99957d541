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

namespace smelt {
namespace {

constexpr const char *kSparsity = "--sparsity", *kNm = "--nm", *kMethod = "--method",
                     *kMagnitude = "magnitude", *kSoft = "soft", *kPenalty = "--penalty";

double zeros_of(const Sparsified::Tensor& tensor) {
  return share(tensor.weights - tensor.not_zero, tensor.weights);
}

OrderedJson sparse_json(const SparsifyJob& job, const Sparsified& done) {
  OrderedJson zeros = OrderedJson::object();
  for (const Sparsified::Tensor& tensor : done.tensors) zeros[tensor.name] = zeros_of(tensor);
  return {{"out", job.to},
          {"bytes_before", done.bytes_before},
          {"bytes", done.bytes},
          {"weights", done.weights},
          {"not_zero", done.not_zero},
          {"parameters", done.parameters},
          {"zeros", zeros}};
}

void check_method(const std::string& method) {
  const std::array<std::string, 4> known{"fisher", kMagnitude, kMovement, kSoft};
  if (method.empty() || std::ranges::find(known, method) != known.end()) return;
  throw UsageError(str("compress: ", kMethod, " ", method, ": there is no such method"),
                   did_you_mean(method, known));
}

// Nothing moves in a model that does not learn.
void check_movement(const SparsifyJob& job, const CLI::App& command) {
  if (command.count("--tune") == 0)
    throw UsageError(
        str("compress: ", kMethod, " ", job.by, " without --tune: weights move while they learn"),
        "name a new folder to train in with --tune, or take --method magnitude");
  if (job.by == kSoft && (job.nm || job.sparsity))
    throw UsageError(str("compress: ", kMethod, " soft with ", job.nm ? kNm : kSparsity,
                         ": how many weights become 0 follows from ", kPenalty),
                     str("leave it out, or take ", kMethod, " movement"));
  if (job.nm)
    throw UsageError("compress: --method movement with --nm, which keeps the largest of neighbours",
                     "give --sparsity, or take --method magnitude");
}

void refuse_together(const CLI::App& command, const std::string& asked) {
  for (const char* cut : {"--layers", "--keep-layers", "--decoder-layers", "--keep-decoder-layers",
                          "--ffn", "--heads", "--macs", "--input"})
    if (command.count(cut) > 0)
      throw UsageError(str("compress: ", cut, " cuts a model, and ", asked, " sets weights to 0"),
                       "cut first, then name what is left");
  for (const char* rows : {"--no-rescale", "--format", "--header", "--field", "--pair-field",
                           "--label-field", "--prefix", "--seq-length", "--target-length",
                           "--examples", "--batch", "--seed", "--device"})
    if (command.count(rows) > 0)
      throw UsageError(str("compress: ", rows, " with ", asked, ", which looks at no rows"),
                       str("leave ", rows, " out"));
}

// What is made sparse has learned with as many zeros before.
void learn_with_zeros(SparsifyJob& job, const SparseRun& run) {
  if (run.folder.empty()) return;
  check_sparsity(job);
  (void)OutputDirectory(job.to);  // which says before anything is trained that something is there
  // The best checkpoint may have fewer zeros, and a run that ends early all too few.
  std::vector<std::string> settings{"eval.best=false"};
  if (!job.nm) settings.emplace_back("train.early_stopping.patience=0");
  settings.insert(settings.end(), run.settings.begin(), run.settings.end());
  // All three, since the model's own recipe may have others.
  settings.push_back("train.pruning.nm=" + (job.nm ? nm_text(*job.nm) : std::string()));
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
      "what chooses: fisher cuts neurons and heads that the loss hangs on least; "
      "magnitude sets the smallest weights to 0, movement, with --tune, those that "
      "learning takes towards 0, soft, with --tune, as many as --penalty has for it: a "
      "smaller file, NOT faster");
  command
      .add_option(kPenalty, f.penalty,
                  "of soft: more of it, and more weights become 0; what it comes to is tried out")
      ->capture_default_str();
  command.add_option(kSparsity, f.sparsity,
                     "of magnitude: the share of attention's and feed-forward's weights, all taken "
                     "together, that becomes 0");
  command.add_option(kNm, f.nm,
                     "of magnitude, in its place: of each so many neighbouring inputs of an output "
                     "so many stay, as 2:4");
}

std::optional<SparsifyJob> sparse_job(const SparseFlags& f, const CLI::App& command,
                                      const std::string& from, const std::string& to) {
  check_method(f.method);
  const bool has_share = command.count(kSparsity) > 0, has_nm = command.count(kNm) > 0;
  const bool of_weights = f.method == kMagnitude || f.method == kMovement || f.method == kSoft;
  if (command.count(kPenalty) > 0 && f.method != kSoft)
    throw UsageError(str("compress: ", kPenalty, " is of ", kMethod, " soft"), "leave it out");
  if (!has_share && !has_nm && !of_weights) return std::nullopt;
  const std::string asked = has_share ? kSparsity : has_nm ? kNm : str(kMethod, " ", f.method);
  if (!f.method.empty() && !of_weights)
    throw UsageError(str("compress: ", asked, " with ", kMethod, " ", f.method,
                         ", which cuts neurons and heads"),
                     "take --method magnitude, or --ffn and --heads");
  refuse_together(command, asked);
  SparsifyJob job{.from = from, .to = to};
  if (has_share) job.sparsity = f.sparsity;
  if (has_nm) job.nm = parse_nm(f.nm, str("compress: ", kNm));
  if (!f.method.empty()) job.by = f.method;
  if (job.by == kMovement || job.by == kSoft) check_movement(job, command);
  return job;
}

void make_sparse(SparsifyJob job, const SparseRun& run, bool json) {
  learn_with_zeros(job, run);
  const Sparsified done = sparsify_model(job);
  if (json) {
    std::cout << sparse_json(job, done).dump() << "\n";
    return;
  }
  const std::uint64_t zeros = done.weights - done.not_zero;
  std::cout << job.to << ": " << zeros << " of " << done.weights << " weights of "
            << done.tensors.size() << " matrices are 0 (" << percent(share(zeros, done.weights))
            << "), of all " << done.parameters << " parameters "
            << percent(share(zeros, done.parameters)) << "; "
            << sizes_text(done.bytes_before, done.bytes) << "\n";
  const auto most = std::ranges::max_element(done.tensors, {}, zeros_of);
  std::cout
      << "  most zeros: " << most->name << ", " << percent(zeros_of(*most)) << "\n"
      << "  a smaller file, NOT a faster model: zeros are multiplied as other numbers are\n"
      << "  only smelt reads this folder; other programs take a run's huggingface/ or an ONNX "
         "file: docs/guides/compress.md\n";
}

}  // namespace smelt
