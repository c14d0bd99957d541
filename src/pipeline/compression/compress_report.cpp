#include "pipeline/compression/compress_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/plural.h"
#include "compress/model_stats.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "pipeline/compression/compress_notes.h"
#include "pipeline/compression/compress_scores.h"
#include "pipeline/objectives/compress_checks.h"

namespace smelt::pipeline {
namespace {

constexpr std::size_t kChangedRows = 20;
constexpr int kLoads = 3;

// A model in the report.
struct Row {
  std::string name, path, role;
  compress::SourceFolder source;
};

std::string last_name(const std::string& path) {
  std::string plain = path;
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return io::path_name(plain);
}

std::vector<Row> rows_of(const CompressReportJob& job) {
  std::vector<Row> out;
  const auto add = [&](const std::string& path, const char* role) {
    Row row{.name = last_name(path),
            .path = path,
            .role = role,
            .source = compress::open_source_folder(path, compress::QuantizedInput::accepted)};
    if (std::ranges::find(out, path, &Row::path) != out.end())
      throw UsageError(str("compress: ", path, " is named twice"), "name it once");
    if (std::ranges::find(out, row.name, &Row::name) != out.end()) row.name = path;
    if (!out.empty() && row.source.kind != out.front().source.kind)
      throw UsageError(str("compress: ", path, " and ", job.base, " are different kinds of models"),
                       "compare models for the same task");
    out.push_back(std::move(row));
  };
  add(job.base, "base");
  for (const std::string& path : job.models) add(path, "model");
  for (const std::string& path : job.students) add(path, "student");
  return out;
}

// Returns the maximum number of tokens that all models accept.
std::int64_t most_tokens(const std::vector<Row>& rows, const CompressReportJob& job) {
  if (rows.front().source.kind == compress::CompressKind::t5) return job.test.seq_length;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const Row& row : rows)
    for (const char* limit : {"max_position_embeddings", "seq_length"})
      most = std::min(most, row.source.config.value(limit, most));
  return most;
}

// Throws UsageError if the test rows were used to choose or calibrate the model, because its score
// would be too high.
void check_unseen(const Row& row, const CompressReportJob& job, std::uint32_t test) {
  for (const Json& step : row.source.steps) {
    for (const char* field : {"chosen_by", "calibrated_by"}) {
      if (!step.is_object() || !step.contains(field)) continue;
      const Json crc = step[field].value("input_crc32c", Json());
      if (crc != Json(test)) continue;
      throw UsageError(
          str("compress: ", job.test.files.input, ": these rows were used to choose ", row.path),
          "name test rows that were not used in training or compression");
    }
  }
}

ComparedModel::Options options_of(const CompressReportJob& job) {
  return {.stored = {.vocab = {}, .device = job.device},
          .batch_size = job.batch_size,
          .answer_tokens = 0,
          .rows = job.test};
}

// Predictions of a model for the test rows and the development rows.
struct Predictions {
  SaidRows test, dev;
};

class ReportScores {
 public:
  explicit ReportScores(const CompressReportJob& job) : job_(job), metrics_(job.metrics) {}

  const std::vector<std::string>& metrics() const { return metrics_; }
  // Returns the scores of a model. Call it for the base model first.
  OrderedJson of(const Row& row) {
    ComparedModel model("compress", row.source.folder, options_of(job_));
    if (!base_) {
      if (metrics_.empty()) metrics_ = {model.metric()};
      if (!model.is_t5()) labels_ = model.labels();
    } else if (!model.is_t5()) {
      check_labels(row, model.labels());
    }
    Predictions predictions{.test = model.predict(job_.test), .dev = {}};
    if (!job_.dev.empty()) predictions.dev = model.predict(dev_rows());
    OrderedJson out{{"scores", scores_json(predictions.test, metrics_, job_.resample)}};
    if (!predictions.dev.empty())
      out["dev_scores"] = scores_json(predictions.dev, metrics_, job_.resample);
    if (base_) {
      out["against_base"] = against_json(predictions.test, base_->test, metrics_, job_.resample);
      out["changed"] = changed_json(predictions.test, base_->test, kChangedRows);
    } else {
      base_ = std::move(predictions);
    }
    return out;
  }
  OrderedJson rows_json(std::uint32_t test_crc) const {
    OrderedJson out{
        {"input", job_.test.files.input}, {"examples", base_->test.size()}, {"crc32c", test_crc}};
    if (base_->dev.empty()) return out;
    const std::size_t both = rows_in_both(base_->dev, base_->test);
    if (both > 0)
      log_warning(
          "compress: {} of {} are also in {}: scores of models that were chosen with them are too "
          "high",
          counted(both, "row"), job_.test.files.input, job_.dev);
    out["dev"] = {{"input", job_.dev}, {"examples", base_->dev.size()}, {"rows_in_both", both}};
    return out;
  }

 private:
  RowsToPredict dev_rows() const {
    RowsToPredict out = job_.test;
    out.files.input = job_.dev;
    out.what = "--dev";
    return out;
  }
  void check_labels(const Row& row, const io::Labels& own) const {
    const auto sorted = [](std::vector<std::string> names) {
      std::ranges::sort(names);
      return names;
    };
    if (own.problem != labels_.problem || sorted(own.names) != sorted(labels_.names))
      throw UsageError(
          str("compress: ", row.path, " has the classes ", shortened(join(own.names, ", "), 60),
              ", but ", job_.base, " has ", shortened(join(labels_.names, ", "), 60)),
          "compare models for the same task");
  }

  const CompressReportJob& job_;
  std::vector<std::string> metrics_;
  io::Labels labels_;
  std::optional<Predictions> base_;
};

OrderedJson facts_json(const Row& row, const CompressReportJob& job) {
  const compress::ModelFacts facts = compress::facts_of(row.source);
  const std::int64_t length = std::ranges::max(job.latency.lengths);
  return {{"name", row.name},
          {"path", row.path},
          {"role", row.role},
          {"bytes", facts.bytes},
          {"parameters", facts.parameters},
          {"parameters_without_tables", facts.parameters - facts.parameters_of_tables},
          {"operations", compress::operations_of(row.source, length, job.answer_tokens)},
          {"steps", facts.steps}};
}

OrderedJson latency_json(const Latency& own, const Latency& base, bool is_base,
                         std::int64_t tokens) {
  const auto tokens_at_once = static_cast<double>(own.batch * tokens);
  OrderedJson out{{"batch", own.batch},
                  {"length", own.length},
                  {"p50_ms", 1e3 * own.quantile(0.5)},
                  {"p90_ms", 1e3 * own.quantile(0.9)},
                  {"tokens_per_second", tokens_at_once / own.quantile(0.5)}};
  if (is_base) return out;
  const evaluation::Interval ratio = speed_up(base, own);
  out["speed_up"] = {{"value", ratio.value}, {"low", ratio.low}, {"high", ratio.high}};
  return out;
}

void measure_latency(const CompressReportJob& job, const std::vector<Row>& rows,
                     OrderedJson& models) {
  std::vector<ComparedModel> opened;
  ComparedModel::Options options = options_of(job);
  options.batch_size = std::ranges::max(job.latency.batches);
  options.answer_tokens = job.answer_tokens;
  for (const Row& row : rows) opened.emplace_back("compress", row.source.folder, options);
  const bool t5 = opened.front().is_t5();
  const auto measured = latencies(opened, job.latency);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < measured[i].size(); ++k) {
      const Latency& own = measured[i][k];
      models[i]["latency"].push_back(
          latency_json(own, measured[0][k], i == 0, t5 ? job.answer_tokens : own.length));
    }
}

void measure_loading(const CompressReportJob& job, const std::vector<Row>& rows,
                     OrderedJson& models) {
  if (job.smelt.empty()) return;
  std::vector<std::string> folders;
  for (const Row& row : rows) folders.push_back(row.source.folder);
  const auto loaded =
      load_each(job.smelt, folders, job.device, job.latency, job.answer_tokens, kLoads);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    models[i]["load_seconds"] = loaded[i].seconds;
    models[i]["peak_bytes"] = loaded[i].bytes;
  }
}

OrderedJson machine_json(const CompressReportJob& job, double load) {
  const MachineFacts machine = machine_facts();
  return {{"processor", machine.processor},
          {"extensions", machine.extensions},
          {"threads", machine.threads},
          {"device", job.device},
          {"load_before", load},
          {"load_after", machine_load()},
          {"smelt", job.version},
          {"command", job.command}};
}

}  // namespace

OrderedJson compress_report(CompressReportJob job) {
  const double load = machine_load();
  const std::vector<Row> rows = rows_of(job);
  job.latency = sizes_within(job.latency, most_tokens(rows, job));
  const std::uint32_t crc =
      compress::crc32c_of_files(io::expand_files(job.test.files.input, job.test.what));
  for (const Row& row : rows) check_unseen(row, job, crc);
  ReportScores scores(job);
  OrderedJson models = OrderedJson::array();
  for (const Row& row : rows) {
    models.push_back(facts_json(row, job));
    models.back().update(scores.of(row));
  }
  measure_loading(job, rows, models);
  measure_latency(job, rows, models);
  OrderedJson out{
      {"format", "smelt compress report 1"},
      {"kind", rows.front().source.kind == compress::CompressKind::t5 ? "t5" : "classifier"},
      {"metrics", scores.metrics()},
      {"rows", scores.rows_json(crc)},
      {"rounds", job.latency.rounds},
      {"answer_tokens", job.answer_tokens},
      {"operations_length", std::ranges::max(job.latency.lengths)},
      {"resampled", {{"samples", job.resample.samples}, {"seed", job.resample.seed}}},
      {"machine", machine_json(job, load)},
      {"models", models}};
  add_compress_notes(out);
  return out;
}

}  // namespace smelt::pipeline
