#include "pipeline/compression/compress_latency.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/run_program.h"
#include "base/stop_signal.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/interop/stored_model.h"
#include "checkpoint/storage/lazy_files.h"
#include "checkpoint/storage/parameter_names.h"
#include "execution/train_state/model_state.h"
#include "pjrt/hardware.h"

namespace smelt::pipeline {
namespace {

constexpr int kTurnsBefore = 2;  // warm-up rounds

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Loaded load_once(const std::string& smelt, const std::string& folder, const std::string& device,
                 const LatencyJob& job, std::int64_t answer_tokens) {
  const std::string command =
      str(shell_word(smelt), " compress load ", shell_word(folder), " --json --batch ",
          std::ranges::max(job.batches), " --length ", std::ranges::max(job.lengths),
          " --answer-tokens ", answer_tokens, " --device ", shell_word(device));
  const ShellOutput output = run_shell(command, "");
  const auto json = Json::parse_or_discard(output.text);
  if (output.status != 0 || !json.is_object())
    throw SystemError(str("compress: a process that loads ", folder, " ended with status ",
                          output.status, ": its output is above"));
  return {json.at("load_seconds").get<double>(), json.at("peak_bytes").get<double>()};
}

void check_not_stopped() {
  if (StopSignal::raised())
    throw Stopped("compress: stopped by a signal while models were measured",
                  "run the same command again");
}

}  // namespace

LatencyJob sizes_within(LatencyJob job, std::int64_t most_tokens) {
  if (job.rounds < 1)
    throw UsageError(str("compress: --rounds ", job.rounds, ": must be at least 1"),
                     "use --rounds 20");
  for (const std::int64_t batch : job.batches)
    if (batch < 1)
      throw UsageError(
          str("compress: --batches ", batch, ": a batch size must be a positive integer"),
          "use --batches 1,8,32");
  std::vector<std::int64_t> lengths;
  for (std::int64_t length : job.lengths) {
    if (length < 2 || (length > most_tokens && job.lengths_told))
      throw UsageError(
          str("compress: --lengths ", length, ": the models accept 2 to ", most_tokens, " tokens"),
          "choose lengths in that range");
    length = std::min(length, most_tokens);
    if (std::ranges::find(lengths, length) == lengths.end()) lengths.push_back(length);
  }
  job.lengths = std::move(lengths);
  return job;
}

double Latency::quantile(double share) const {
  CHECK(!seconds.empty());
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  const double at = std::ceil(share * static_cast<double>(sorted.size())) - 1;
  return sorted[static_cast<std::size_t>(std::max(at, 0.0))];
}

std::vector<std::vector<Latency>> latencies(std::span<ComparedModel> models,
                                            const LatencyJob& job) {
  std::vector<std::vector<Latency>> out(models.size());
  const auto sizes = std::ssize(job.lengths) * std::ssize(job.batches);
  Progress progress("compress: latency", sizes * (job.rounds + kTurnsBefore), "rounds");
  std::int64_t done = 0;
  for (const std::int64_t length : job.lengths)
    for (const std::int64_t batch : job.batches) {
      for (auto& of_model : out) of_model.push_back({.batch = batch, .length = length});
      for (std::int64_t round = -kTurnsBefore; round < job.rounds; ++round) {
        check_not_stopped();
        for (std::size_t turn = 0; turn < models.size(); ++turn) {
          const std::size_t i =
              (turn + static_cast<std::size_t>(round + kTurnsBefore)) % models.size();
          const double seconds = models[i].seconds(batch, length);
          if (round >= 0) out[i].back().seconds.push_back(seconds);
        }
        progress.update(++done);
      }
    }
  return out;
}

evaluation::Interval speed_up(const Latency& base, const Latency& other) {
  CHECK(base.seconds.size() == other.seconds.size());
  return evaluation::bootstrap(base.seconds.size(), [&](std::span<const std::size_t> rounds) {
    std::vector<double> ratios;
    for (const std::size_t i : rounds) ratios.push_back(base.seconds[i] / other.seconds[i]);
    return middle(std::move(ratios));
  });
}

std::string own_program() {
  std::error_code ignored;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return path.filename() == "smelt" ? path.string() : std::string();
}

double seconds_of_weights(const std::string& folder, const std::string& device) {
  const auto client = pjrt::open_device(pjrt::chosen_device(device), 1);
  const auto begin = Clock::now();
  const checkpoint::StoredModel model = checkpoint::open_stored_model(folder, "compress load");
  io::LazyTensors weights = checkpoint::as_codes(model.tensors);
  std::erase_if(weights,
                [&](const auto& item) { return checkpoint::is_slot(item.first, model.tensors); });
  for (auto& [name, tensor] : weights)
    tensor = checkpoint::as_dtype(std::move(tensor), compiler::DType::f32);
  const checkpoint::StoredTensors held = checkpoint::load_undecoded(weights);
  model::StateLayout layout;
  for (const auto& [name, tensor] : held.tensors)
    layout.tensors.push_back({.name = name, .shape = tensor.shape, .init = {}});
  (void)execution::ModelState::restore(*client, model::ShardingPlan(), layout, held.tensors,
                                       folder);
  return seconds_since(begin);
}

std::vector<Loaded> load_each(const std::string& smelt, const std::vector<std::string>& folders,
                              const std::string& device, const LatencyJob& job,
                              std::int64_t answer_tokens, int loads) {
  std::vector<std::vector<double>> seconds(folders.size());
  std::vector<Loaded> out(folders.size());
  Progress progress("compress: loading", static_cast<std::int64_t>(folders.size()) * loads,
                    "processes");
  for (int load = 0; load < loads; ++load)
    for (std::size_t i = 0; i < folders.size(); ++i) {
      check_not_stopped();
      const Loaded one = load_once(smelt, folders[i], device, job, answer_tokens);
      seconds[i].push_back(one.seconds);
      out[i].bytes = std::max(out[i].bytes, one.bytes);
      progress.update(static_cast<std::int64_t>(load) * std::ssize(folders) +
                      static_cast<std::int64_t>(i) + 1);
    }
  for (std::size_t i = 0; i < folders.size(); ++i) out[i].seconds = middle(seconds[i]);
  return out;
}

}  // namespace smelt::pipeline
