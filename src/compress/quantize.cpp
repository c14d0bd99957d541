#include "compress/quantize.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "checkpoint/interop/decoded.h"
#include "checkpoint/interop/int4_weights.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/storage/lazy_files.h"
#include "compress/product_inputs.h"
#include "compress/quantize_plan.h"
#include "compress/quantized_matrix.h"
#include "compress/smooth.h"
#include "compress/source_folder.h"
#include "data/preprocess/work_folder.h"
#include "io/filesystem/folder.h"
#include "io/formats/int8_rows.h"

namespace smelt::compress {
namespace {

// Returns the prefix of error messages about a matrix.
std::string matrix_label(const SourceFolder& source, const std::string& name) {
  return str("compress: ", source.where, ": '", name, "'");
}

QuantizedMatrices quantized_matrices(const SourceFolder& source, const QuantizePlan& plan,
                                     const PruneRows* rows, const QuantizeJob& job) {
  Matrices matrices;
  for (const auto& list : {plan.products, plan.tables})
    for (const std::string& module : list)
      matrices.emplace(module, source.tensors.at(str(module, kWeight)));
  if (!is_int4(job)) {
    QuantizedMatrices out;
    for (const auto& [module, matrix] : matrices)
      out.emplace(module, to_int8(matrix, matrix_label(source, str(module, kWeight))));
    return out;
  }
  if (rows == nullptr) return to_int4_nearest(matrices, job.group, source.where);
  return to_int4_gptq(*rows, matrices, job.group, source.where);
}

Quantized::Tensor noise_of(const std::string& name, const io::LazyTensor& matrix,
                           const QuantizedMatrix& quantized) {
  const std::vector<std::byte> bytes = checkpoint::as_dtype(matrix, compiler::DType::f32).read();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  const std::vector<float> restored = quantized.dequantized();
  return {.name = name,
          .sqnr_db = io::signal_to_noise_db(values, restored),
          .middle_db =
              io::middle_to_noise_db(values, restored, static_cast<std::size_t>(quantized.rows))};
}

Json limit_json(const DropLimit& limit, const Quantized& done) {
  Json out = limit.rows;
  out["max_drop"] = limit.most;
  out["forced"] = limit.forced;
  out["score"] = {{"before", done.before.choice}, {"after", done.after.choice}};
  out["score_of_other_rows"] = {{"before", done.before.unbiased}, {"after", done.after.unbiased}};
  return out;
}

std::string scales_text(const QuantizeJob& job) {
  if (is_int4(job))
    return str("per ", job.group, " values of a row: max|x| / 7.5; rounded half to even, -8 to 7");
  return "per row: max|x| / 127.5; rounded half to even, -128 to 127";
}

bool has_rows(const QuantizeJob& job) { return !job.rows.rows.input.empty(); }

Json ranges_json(const Quantized& done) {
  Json out = Json::object();
  for (const auto& [module, range] : done.ranges)
    out[module] = {{"most", range.most}, {"threshold", range.threshold}};
  return out;
}

Json step_of(const QuantizeJob& job, const Quantized& done) {
  Json loss = Json::object();
  for (const Quantized::Tensor& tensor : done.tensors)
    loss[tensor.name] =
        std::isfinite(tensor.sqnr_db) ? Json(std::round(tensor.sqnr_db * 100) / 100) : Json();
  Json out{{"method", is_int4(job) ? "weights int4" : "weights int8"},
           {"scales", scales_text(job)},
           {"activations", word_of(job.activations, kActivations)},
           {"embeddings", job.embeddings},
           {"keep", job.keep},
           {"kept", done.kept},
           {"sqnr_db", loss}};
  if (is_int4(job)) {
    out["group"] = job.group;
    out["rounded"] = has_rows(job) ? "gptq" : "to the nearest";
  }
  if (has_rows(job)) out["calibrated_by"] = rows_json(job.rows);
  if (job.activations != Activations::floats) out["too_coarse"] = done.too_coarse;
  if (job.smooth > 0) out["smooth"] = job.smooth;
  if (job.activations == Activations::by_input_scale) {
    out["calibration"] = word_of(job.calibration, kCalibrations);
    out["ranges"] = ranges_json(done);
  }
  if (!job.limit) return out;
  out["went_back"] = done.went_back;
  out["chosen_by"] = limit_json(*job.limit, done);
  return out;
}

using Ranges = decltype(Quantized::ranges);

// Returns the range of each matmul's input, after division by the channel factors.
Ranges ranges_of(const QuantizePlan& plan, const PruneRows& rows, const ChannelNumbers& factors,
                 Calibration by) {
  std::vector<std::string> kernels;
  for (const std::string& module : plan.products) kernels.push_back(kernel_of(module));
  const auto histograms = rows.histograms(kernels, factors);
  Ranges out;
  for (const std::string& module : plan.products) {
    const AbsHistogram& of = histograms.at(kernel_of(module));
    out[module] = {.most = of.most, .threshold = threshold_of(of, by)};
  }
  return out;
}

// Returns the quantization noise of each matrix, worst first.
std::vector<Quantized::Tensor> noise_of_all(const SourceFolder& source,
                                            const QuantizedMatrices& quantized) {
  std::vector<Quantized::Tensor> out;
  for (const auto& [module, matrix] : quantized) {
    const std::string name = str(module, kWeight);
    out.push_back(noise_of(name, source.tensors.at(name), matrix));
  }
  std::ranges::stable_sort(out, {}, &Quantized::Tensor::middle_db);
  return out;
}

// Returns the plan without the `count` matrices with the most noise.
QuantizePlan without_worst(QuantizePlan plan, const std::vector<Quantized::Tensor>& worst_first,
                           std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::string module = module_of(worst_first[i].name);
    std::erase(plan.products, module);
    std::erase(plan.tables, module);
    plan.kept.push_back(module);
  }
  std::ranges::sort(plan.kept);
  return plan;
}

void refuse(const char* what, const char* hint) { throw UsageError(str("compress: ", what), hint); }

}  // namespace

void check_quantize_job(const QuantizeJob& job) {
  const bool is_static = job.activations == Activations::by_input_scale;
  if (is_int4(job) && job.embeddings)
    refuse("--embeddings cannot be combined with --weights int4: a folder has a single bit width",
           "remove --embeddings, or use --weights int8");
  if (is_int4(job) && job.activations != Activations::floats)
    throw UsageError(str("compress: --activations ", word_of(job.activations, kActivations),
                         " cannot be combined with --weights int4: it needs int8 matmuls"),
                     "remove --activations, or use --weights int8");
  if (job.smooth > 0 && job.activations == Activations::floats)
    refuse("--smooth needs --activations: without it only the weights lose accuracy",
           "use --activations dynamic or static");
  if ((is_static || job.smooth > 0) && !has_rows(job))
    refuse(is_static ? "--activations static needs calibration data for input scales"
                     : "--smooth needs calibration data for channel factors",
           "give labelled rows that the model was trained on with --calibrate");
  if (!is_int4(job) && !is_static && job.smooth == 0 && has_rows(job))
    refuse("--calibrate has no effect with --weights int8 and --activations other than static",
           "remove it, or use --activations static or --weights int4");
}

namespace {

// Removes the matmuls below kLeastSqnr dB from the plan and returns the names of their matrices.
std::vector<std::string> remove_noisy(std::vector<Quantized::Tensor>& losses, QuantizePlan& plan,
                                      const std::string& where) {
  const auto coarse = std::ranges::stable_partition(losses, [&](const Quantized::Tensor& tensor) {
    return tensor.sqnr_db >= kLeastSqnr || is_table(tensor.name);
  });
  const std::vector<Quantized::Tensor> worst(coarse.begin(), coarse.end());
  losses.erase(coarse.begin(), coarse.end());
  plan = without_worst(std::move(plan), worst, worst.size());
  if (plan.products.empty())
    throw UsageError(str("compress: ", where, ": no matrix reaches a signal-to-noise ratio of ",
                         kLeastSqnr, " dB, which int8 matmuls need"),
                     "remove --activations");
  std::vector<std::string> out;
  for (const Quantized::Tensor& tensor : worst) out.push_back(tensor.name);
  return out;
}

io::LazyTensor one_number(float value) {
  return {{compiler::DType::f32, {1}},
          [value] { return checkpoint::bytes_of_values(std::vector{value}); }};
}

CompressedFolder quantized_folder(const SourceFolder& source, const QuantizePlan& plan,
                                  const QuantizedMatrices& quantized, const Ranges& ranges,
                                  const QuantizeJob& job) {
  CompressedFolder made{.config = source.config, .tensors = source.tensors, .step = {}};
  std::erase_if(made.tensors,
                [&](const auto& item) { return is_copy_of_table(item.first, source); });
  for (const auto& list : {plan.products, plan.tables})
    for (const std::string& module : list) {
      const std::string name = str(module, kWeight);
      made.tensors.erase(name);
      for (const auto& [suffix, tensor] : quantized.at(module).tensors)
        made.tensors[name + suffix] = tensor;
    }
  for (const std::string& module : plan.products)
    if (const auto found = ranges.find(module); found != ranges.end())
      made.tensors[module + checkpoint::kInputScale] =
          one_number(input_scale_for(found->second.threshold));
  made.config[checkpoint::kQuantizationConfig] = quantization_config(plan, source.kind, job);
  return made;
}

bool is_kept(const QuantizePlan& plan, const std::string& module) {
  return std::ranges::find(plan.kept, module) != plan.kept.end();
}

// Returns how many of the noisiest matrices must stay in floating point to meet the limit. Stores
// the scores in `out`.
std::size_t count_left_in_float(const SourceFolder& source, const QuantizePlan& plan,
                                const QuantizedMatrices& quantized, const QuantizeJob& job,
                                const std::vector<Quantized::Tensor>& worst_first, Quantized& out) {
  const DropLimit& limit = *job.limit;
  const std::string name = str(source.where, " ", ::getpid(), " scores");
  data::WorkFolder work(data::temporary_work_folder("compress", name));
  work.begin({{"compress", name}});
  work.remove_at_signal();
  out.before = limit.score(source.folder);
  std::map<std::size_t, FolderScore> tried;
  const auto holds = [&](std::size_t count) {
    const std::string folder = work.file(str("without", count));
    write_compressed_folder(folder, source,
                            quantized_folder(source, without_worst(plan, worst_first, count),
                                             quantized, out.ranges, job));
    tried[count] = limit.score(folder);
    io::remove_tree(folder);
    log_info("compress: score {} with {} in floating point, {} before quantization",
             tried[count].choice, counted(count, "matrix", "matrices"), out.before.choice);
    return tried[count].choice >= out.before.choice - limit.most;
  };
  const auto found = smallest_passing(worst_first.size() - 1, holds);
  if (!found && !limit.forced)
    throw UsageError(
        str("compress: the score drops by more than ", limit.most, " (", limit.what, "): with ",
            worst_first.size() - 1, " of ", worst_first.size(),
            " matrices in floating point the score is ", tried.at(worst_first.size() - 1).choice,
            ", before quantization it was ", out.before.choice),
        limit.hint);
  out.after = tried.at(found.value_or(0));
  return found.value_or(0);
}

}  // namespace

std::optional<std::size_t> smallest_passing(std::size_t most,
                                            const std::function<bool(std::size_t)>& holds) {
  if (holds(0)) return 0;
  std::size_t bad = 0, good = std::min<std::size_t>(1, most);
  while (good > bad && !holds(good)) {
    bad = good;
    good = std::min(2 * good, most);
  }
  if (good == bad) return std::nullopt;
  while (good - bad > 1) {
    const std::size_t middle = bad + (good - bad) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  return good;
}

Quantized quantize_weights(const QuantizeJob& job) {
  check_quantize_job(job);
  (void)io::OutputDirectory(job.to);  // fails early if `to` is not empty
  SourceFolder source = open_source_folder(job.from);
  QuantizePlan plan = plan_of(source, job);
  std::optional<PruneRows> rows;
  if (has_rows(job)) rows.emplace(source, job.rows);
  const ChannelNumbers factors =
      job.smooth > 0 ? smooth(source, *rows, job.smooth) : ChannelNumbers();
  const QuantizedMatrices quantized =
      quantized_matrices(source, plan, rows ? &*rows : nullptr, job);
  Quantized out{
      .tensors = noise_of_all(source, quantized), .kept = {}, .bytes_before = source.bytes};
  if (job.activations != Activations::floats)
    out.too_coarse = remove_noisy(out.tensors, plan, source.where);
  if (job.activations == Activations::by_input_scale)
    out.ranges = ranges_of(plan, *rows, factors, job.calibration);
  if (job.limit) {
    const std::size_t back = count_left_in_float(source, plan, quantized, job, out.tensors, out);
    plan = without_worst(plan, out.tensors, back);
    const auto first_left = out.tensors.begin() + static_cast<std::ptrdiff_t>(back);
    for (auto it = out.tensors.begin(); it != first_left; ++it) out.went_back.push_back(it->name);
    out.tensors.erase(out.tensors.begin(), first_left);
  }
  out.kept = plan.kept;
  std::ranges::sort(out.tensors, {}, &Quantized::Tensor::name);
  std::erase_if(out.ranges, [&](const auto& item) { return is_kept(plan, item.first); });
  CompressedFolder made = quantized_folder(source, plan, quantized, out.ranges, job);
  made.step = step_of(job, out);
  out.bytes = write_compressed_folder(job.to, source, made);
  return out;
}

}  // namespace smelt::compress
