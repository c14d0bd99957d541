#include "recipe/text_predictions.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "base/stop_signal.h"
#include "base/words.h"
#include "data/example_source.h"
#include "examples/text_to_text_examples.h"
#include "recipe/pipeline.h"
#include "recipe/recipe.h"
#include "store/file.h"
#include "store/folder.h"
#include "text/lines.h"
#include "tokenize/text_pair.h"

namespace smelt {
namespace {

// Ids up to their end.
std::vector<std::int32_t> row_of(const HostArray& array, std::size_t row, std::int32_t end) {
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

std::string text_of(const GenerateJob& job, std::vector<std::int32_t> ids) {
  if (!ids.empty() && ids.back() == job.end) ids.pop_back();
  return job.decode(ids);
}

// Texts and labels of records, in their order.
class ScoredRows {
 public:
  ScoredRows(const std::string& records, const GenerateJob& job)
      : path_(rows_beside(records)), job_(job) {
    if (exists(path_)) lines_.emplace(path_);
    if (!lines_)
      spdlog::warn(
          "eval: {} is not there: answers are compared with what is left of the labels in pieces "
          "of "
          "the vocabulary",
          path_);
  }

  nlohmann::ordered_json row(const Batch& batch, std::size_t at) {
    if (!lines_)
      return {{"text", text_of(job_, row_of(batch.arrays[0], at, job_.end))},
              {"label", text_of(job_, row_of(batch.arrays[1], at, job_.end))}};
    std::string line;
    const bool more = lines_->next(line);
    auto row = nlohmann::ordered_json::parse(line, nullptr, false);
    if (!more || !row.is_object() || !row.contains("text") || !row.contains("label"))
      throw UsageError(
          str(path_, ":", lines_->number() + (more ? 0 : 1), ": no row of the record beside it"),
          "remove it and the records: `smelt run` makes both again");
    return row;
  }

 private:
  std::string path_;
  const GenerateJob& job_;
  std::optional<LineReader> lines_;
};

std::uint64_t scored_rows(const Recipe& r, std::uint64_t all) {
  const auto asked = static_cast<std::uint64_t>(r.eval.steps * r.eval.batch_size);
  return asked == 0 ? all : std::min(all, asked);
}

Generator generator_for(const Recipe& r, const TextsToAnswer& of) {
  GenerateOptions options{
      .most_inputs = of.inputs_length,
      .batch_size = r.eval.batch_size,
      .devices = r.train.devices,
      .hint = "lower eval.batch_size, data.targets_length or data.inputs_length"};
  options.search.most_tokens = of.targets_length;
  return generator_of(r, options);
}

void check_stop(std::uint64_t done, std::uint64_t all) {
  if (StopSignal::raised())
    throw Stopped(str("eval: stopped by a signal after ", done, " of ", counted(all, "answer")),
                  "run the same command again");
}

}  // namespace

std::vector<MeasuredValue> write_text_predictions(const Recipe& r, const TextsToAnswer& of) {
  const RecipePaths paths(r);
  Generator generator = generator_for(r, of);
  const GenerateJob& job = generator.job();
  const auto source = open_examples({.input = paths.scored, .features = of.features});
  ScoredRows rows(paths.scored, job);
  OutputFile file(paths.predictions);
  const std::uint64_t all = scored_rows(r, source->size());
  Progress progress("eval", static_cast<std::int64_t>(all), "answers");
  double right = 0;
  for (std::uint64_t first = 0; first < all;) {
    check_stop(first, all);
    const auto count = std::min(static_cast<std::uint64_t>(job.batch_size), all - first);
    const Batch batch = source->examples_in_order(first, count);
    std::vector<std::vector<std::int32_t>> inputs;
    for (std::size_t i = 0; i < count; ++i) inputs.push_back(row_of(batch.arrays[0], i, job.end));
    const auto answers = generator.answer(std::span<const std::vector<std::int32_t>>(inputs));
    for (std::size_t i = 0; i < count; ++i) {
      nlohmann::ordered_json line = rows.row(batch, i);
      const std::string said = answers[i].empty() ? "" : answers[i].front().text;
      right += words_in(said) == words_in(line["label"].get<std::string>()) ? 1 : 0;
      line["prediction"] = said;
      file.write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    }
    first += count;
    progress.update(static_cast<std::int64_t>(first));
  }
  file.commit();
  const auto weight = static_cast<double>(all);
  return {{.name = "exact_match", .value = right / weight, .weight = weight}};
}

}  // namespace smelt
