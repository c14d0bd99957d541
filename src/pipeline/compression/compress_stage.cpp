#include "pipeline/compression/compress_stage.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "compress/prune.h"
#include "compress/quantize.h"
#include "evaluation/tracking/compress_page.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/compression/compress_choice.h"
#include "pipeline/compression/compress_report.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/run_length.h"
#include "pipeline/objectives/classify_fields.h"
#include "pipeline/objectives/compress_checks.h"
#include "pipeline/objectives/distill_recipe.h"
#include "text/readers/lines.h"

namespace smelt::pipeline {
namespace {

// Returns the format and columns of a file of rows that this stage wrote.
data::LabelledFiles gather_positions(const std::string& file, bool has_pair) {
  data::LabelledFiles out{.input = file, .format = text::FileFormat::jsonl};
  if (has_pair) out.pair = "pair";
  return out;
}

class CompressedModel {
 public:
  CompressedModel(const Recipe& r, const RunRecipe& run)
      : r_(r),
        run_(run),
        folder_(compress_folder(r)),
        former_(folder_ + ".former"),
        source_(RecipePaths(r).hugging_face) {}

  // Creates the folder. If that fails, restores the previous folder.
  void make() {
    put_back_former();  // if an earlier process was killed between two renames
    if (io::exists(folder_)) {
      if (!is_own())
        throw UsageError(
            str("compress: ", folder_, " contains files that this recipe did not write"),
            "move the folder, or remove the section compress");
      std::filesystem::rename(folder_, former_);
    }
    try {
      make_anew();
    } catch (...) {
      put_back_former();
      throw;
    }
    if (io::exists(former_)) io::remove_tree(former_);
  }

 private:
  // Returns whether the folder was made by this stage. Rows are written first, so an incomplete
  // folder contains nothing else.
  bool is_own() const {
    return io::exists(at("train.jsonl")) ||
           std::ranges::all_of(io::list_folder(folder_), [](const std::string& name) {
             return name.starts_with("train.jsonl");
           });
  }
  void put_back_former() const {
    if (!io::exists(former_)) return;
    if (io::exists(folder_)) io::remove_tree(folder_);
    std::filesystem::rename(former_, folder_);
  }
  void make_anew() {
    write_parts();
    std::string newest = source_;
    std::vector<std::string> models;
    if (r_.compress.cuts()) models.push_back(newest = cut(newest));
    if (r_.compress.tune_epochs > 0) models.push_back(newest = distilled(newest));
    if (r_.compress.int8) models.push_back(to_int8(newest));
    report(models);
  }
  std::string at(const char* name) const { return io::join_path(folder_, name); }

  void write_parts() const {
    r_.type->write_rows(r_, ExampleSet::train, at("train.jsonl"));
    if (!r_.data.value("test", "").empty()) {
      r_.type->write_rows(r_, ExampleSet::heldout, at("dev.jsonl"));
      r_.type->write_rows(r_, ExampleSet::test, at("test.jsonl"));
      return;
    }
    r_.type->write_rows(r_, ExampleSet::heldout, at("heldout.jsonl"));
    io::OutputFile dev(at("dev.jsonl")), test(at("test.jsonl"));
    text::LineReader lines(at("heldout.jsonl"));
    for (std::string line; lines.next(line);)
      (lines.number() % 2 == 1 ? dev : test).write(line + "\n");
    dev.commit();
    test.commit();
  }
  bool has_pair() const { return !is_t5(r_) && !classify_data(r_).pair.empty(); }

  // Describes a file of rows. For a T5, also sets the sequence lengths used in training.
  RowsToPredict rows_in(const char* file) const {
    RowsToPredict out{.files = gather_positions(at(file), has_pair()), .what = "compress"};
    if (!is_t5(r_)) return out;
    out.seq_length = r_.data.value("inputs_length", out.seq_length);
    out.target_length = r_.data.value("targets_length", out.target_length);
    return out;
  }
  compress::PruneData rows_to_choose_by() const {
    compress::PruneData out{
        .rows = gather_positions(at("train.jsonl"), has_pair()),
        .seq_length = r_.data.value(is_t5(r_) ? "inputs_length" : "seq_length", std::int64_t{128}),
        .target_length = r_.data.value("targets_length", std::int64_t{64}),
        .examples = r_.compress.examples,
        .device = r_.train.device};
    out.prefix = r_.data.value("prefix", "");
    return out;
  }
  std::string cut(const std::string& from) const {
    const CompressSection& c = r_.compress;
    compress::PruneJob job{.from = from,
                           .to = at("cut"),
                           .ffn = c.ffn,
                           .heads = c.heads,
                           .macs = c.macs,
                           .rescale = c.rescale};
    if (c.layers > 0) job.layers.count = c.layers;
    if (c.decoder_layers > 0) job.decoder_layers.count = c.decoder_layers;
    if (c.ffn < 1 || c.heads < 1 || c.macs < 1) job.data = rows_to_choose_by();
    const compress::Pruned done = compress::prune_model(job);
    log_info("compress: kept {} of {} parameters: {}", done.parameters, done.parameters_before,
             job.to);
    return job.to;
  }
  // Fine-tunes the model in the folder `student` with the recipe's model as its teacher. Returns
  // the folder of the result.
  std::string distilled(const std::string& student) const {
    const Json epochs = r_.compress.tune_epochs;
    std::vector<std::string> settings{"train.epochs=" + epochs.dump(), "train.length="};
    for (std::string& setting : parts_in_shares(r_)) settings.push_back(std::move(setting));
    run_(distill_recipe(r_.out, student, at("taught"), settings));
    return at("taught");
  }
  std::string to_int8(const std::string& from) const {
    compress::QuantizeJob job{.from = from,
                              .to = at("int8"),
                              .embeddings = r_.compress.embeddings,
                              .activations = activations_of(r_)};
    if (job.activations == compress::Activations::by_input_scale) {
      const std::int64_t most = job.rows.examples;
      job.rows = rows_to_choose_by();
      job.rows.examples = std::min(job.rows.examples, most);
      job.calibration = calibration_of(r_);
    }
    if (r_.compress.max_drop >= 0) {
      job.limit = drop_limit({.rows = rows_in("dev.jsonl"),
                              .metric = {},
                              .batch_size = r_.eval.batch_size,
                              .device = r_.train.device},
                             r_.compress.max_drop, false);
      job.limit->what = "compress.max_drop";
      job.limit->hint = "raise compress.max_drop";
    }
    const compress::Quantized done = compress::quantize_weights(job);
    log_info("compress: {} bytes, {} before: {}", done.bytes, done.bytes_before, job.to);
    return job.to;
  }
  void report(const std::vector<std::string>& models) const {
    CompressReportJob job{.base = source_, .models = models, .test = rows_in("test.jsonl")};
    job.dev = at("dev.jsonl");
    job.latency = {.batches = numbers_in(r_, "compress.batches", r_.compress.batches),
                   .lengths = numbers_in(r_, "compress.lengths", r_.compress.lengths),
                   .rounds = r_.compress.rounds};
    job.batch_size = r_.eval.batch_size;
    job.device = r_.train.device;
    job.smelt = own_program();
    const OrderedJson report = compress_report(job);
    io::write_file(at("report.json"), report.dump(1, ' ', false, JsonInvalidUtf8::replace) + "\n");
    io::write_file(at("report.html"), evaluation::compress_page(report));
    log_info("compress: {}\n{}", at("report.html"), compress_report_text(report));
  }

  const Recipe& r_;
  const RunRecipe& run_;
  std::string folder_, former_, source_;
};

}  // namespace

std::string compress_folder(const Recipe& r) { return io::join_path(r.out, "compress"); }

void compress_model(const Recipe& r, const RunRecipe& run) { CompressedModel(r, run).make(); }

}  // namespace smelt::pipeline
