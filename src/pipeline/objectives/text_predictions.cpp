#include "pipeline/objectives/text_predictions.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/stop_signal.h"
#include "base/watchdog.h"
#include "data/input_pipeline/example_source.h"
#include "data/preprocess/text_to_text_examples.h"
#include "evaluation/metrics/named.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/config/recipe.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/objectives/kept_rows.h"
#include "pipeline/objectives/pretrained_model.h"
#include "text/tokenizers/text_pair.h"
#include "train/process_group.h"

namespace smelt::pipeline {
namespace {

// Returns the ids of a row up to the end token.
std::vector<std::int32_t> row_of(const data::HostArray& array, std::size_t row, std::int32_t end) {
  const auto all = array.values<std::int32_t>();
  const auto length = static_cast<std::size_t>(array.shape.dims[1]);
  std::vector<std::int32_t> out;
  for (const std::int32_t id : all.subspan(row * length, length)) {
    if (id == 0) break;
    out.push_back(id);
    if (id == end) break;
  }
  return out;
}

std::string text_of(const execution::GenerateJob& job, std::vector<std::int32_t> ids) {
  if (!ids.empty() && ids.back() == job.end) ids.pop_back();
  return job.decode(ids);
}

// Returns the next original row, or one decoded from the record's ids.
OrderedJson scored_row(KeptRows& kept, const execution::GenerateJob& job, const data::Batch& batch,
                       std::size_t at) {
  if (kept.are_there()) return kept.next();
  return {{"text", text_of(job, row_of(batch.arrays[0], at, job.end))},
          {"label", text_of(job, row_of(batch.arrays[1], at, job.end))}};
}

std::uint64_t scored_rows(const Recipe& r, std::uint64_t all) {
  const auto requested = static_cast<std::uint64_t>(r.eval.steps * r.eval.batch_size);
  return requested == 0 ? all : std::min(all, requested);
}

execution::GenerateOptions options_for(const Recipe& r, const TextsToAnswer& of) {
  const std::int64_t devices = train::local_inference_devices(r.train.devices);
  execution::GenerateOptions out{
      .most_inputs = of.inputs_length,
      .batch_size = r.eval.batch_size,
      .devices = devices,
      .mesh = devices == r.train.devices ? r.train.mesh : model::MeshChoice(),
      .hint = "lower eval.batch_size, data.targets_length or data.inputs_length"};
  out.search.most_tokens = of.targets_length;
  return out;
}

void check_stop(std::uint64_t done, std::uint64_t all) {
  if (StopSignal::raised())
    throw Stopped(str("eval: stopped by a signal after ", done, " of ", counted(all, "answer")),
                  "run the same command again");
}

// A callback for each row (text and label) and its generated answer.
using Answered = std::function<void(OrderedJson row, const std::string& answer)>;

// Generates texts for a batch. The watchdog allows unlimited time for compilation, but not for
// generation.
std::vector<std::vector<execution::Answer>> generate_with_watchdog(
    execution::Generator& generator, std::span<const std::vector<std::int32_t>> inputs,
    Watchdog* watchdog) {
  std::vector<std::vector<execution::Answer>> out;
  while (!inputs.empty()) {
    std::size_t count = 0;
    {
      const Watchdog::Watch watch(watchdog, "compiling answers", WorkOf::compiler);
      count = generator.prepare(inputs);
    }
    const Watchdog::Watch watch(watchdog, "answers to held-out texts");
    std::ranges::move(generator.answer(inputs.first(count)), std::back_inserter(out));
    inputs = inputs.subspan(count);
  }
  return out;
}

void answer_rows(execution::Generator& generator, const Recipe& r, const io::Features& features,
                 const std::string& records, Watchdog* watchdog, const Answered& give) {
  const execution::GenerateJob& job = generator.job();
  const auto source = data::open_examples({.input = records, .features = features});
  KeptRows rows(records, source->size());
  if (!rows.are_there())
    log_warning(
        "eval: {} not found: comparing answers with labels decoded from their token ids, not with "
        "the original labels",
        data::rows_beside(records));
  const std::uint64_t all = scored_rows(r, source->size());
  Progress progress("eval", static_cast<std::int64_t>(all), "answers");
  for (std::uint64_t first = 0; first < all;) {
    check_stop(first, all);
    const auto count = std::min(static_cast<std::uint64_t>(job.batch_size), all - first);
    const data::Batch batch = source->examples_in_order(first, count);
    std::vector<std::vector<std::int32_t>> inputs;
    for (std::size_t i = 0; i < count; ++i) inputs.push_back(row_of(batch.arrays[0], i, job.end));
    const auto answers = generate_with_watchdog(generator, inputs, watchdog);
    for (std::size_t i = 0; i < count; ++i)
      give(scored_row(rows, job, batch, i), answers[i].empty() ? "" : answers[i].front().text);
    first += count;
    progress.update(static_cast<std::int64_t>(first));
  }
}

bool is_exact(const std::string& answer, const OrderedJson& row) {
  return text::words_in(answer) == text::words_in(row["label"].get<std::string>());
}

// Generated answers and their labels.
struct Compared {
  evaluation::JsonValues answers, labels;
  std::uint64_t right = 0;

  void add(const OrderedJson& row, const std::string& answer) {
    right += is_exact(answer, row) ? 1 : 0;
    answers.emplace_back(answer);
    labels.emplace_back(row["label"].get<std::string>());
  }
  std::vector<model::MeasuredValue> values() const {
    const auto all = static_cast<double>(answers.size());
    return {{.name = "exact_match", .value = static_cast<double>(right) / all, .weight = all},
            {.name = "bleu",
             .value = evaluation::score_of_all(evaluation::metric_of("bleu", answers, labels),
                                               answers.size()),
             .weight = all}};
  }
};

class AnswerMeasures : public execution::StateMeasures {
 public:
  AnswerMeasures(const Recipe& r, TextsToAnswer of, std::shared_ptr<const pjrt::Client> client,
                 execution::GenerateJob job)
      : recipe_(r),
        records_(RecipePaths(r).heldout_records),
        of_(std::move(of)),
        generator_(std::move(client), std::move(job), {}, "train") {}

  std::vector<model::MeasuredValue> measure(const checkpoint::SlicedTensors& tensors,
                                            const std::string& where, Watchdog* watchdog) override {
    generator_.take(tensors, where);
    Compared compared;
    answer_rows(
        generator_, recipe_, of_.features, records_, watchdog,
        [&](const OrderedJson& row, const std::string& answer) { compared.add(row, answer); });
    generator_.take({}, where);  // frees device memory for training
    return compared.values();
  }

 private:
  const Recipe recipe_;
  std::string records_;
  TextsToAnswer of_;
  execution::Generator generator_;
};

}  // namespace

std::vector<model::MeasuredValue> write_text_predictions(const Recipe& r, const TextsToAnswer& of) {
  const RecipePaths paths(r);
  execution::Generator generator = PretrainedModel::of_recipe(r).generator(options_for(r, of));
  io::OutputFile file(paths.predictions);
  Compared compared;
  answer_rows(generator, r, of.features, paths.scored, nullptr,
              [&](OrderedJson line, const std::string& answer) {
                compared.add(line, answer);
                line["prediction"] = answer;
                file.write(line.dump(-1, ' ', false, JsonInvalidUtf8::replace) + "\n");
              });
  file.commit();
  return compared.values();
}

std::unique_ptr<execution::StateMeasures> answer_measures(
    const Recipe& r, const TextsToAnswer& of, std::shared_ptr<const pjrt::Client> client,
    execution::GenerateJob job) {
  execution::take_options(job, options_for(r, of));
  job.device = r.train.device;
  job.exact_products = r.train.compute->precision == model::Precision::f32_exact;
  return std::make_unique<AnswerMeasures>(r, of, std::move(client), std::move(job));
}

}  // namespace smelt::pipeline
