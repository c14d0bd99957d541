#include "data/preprocess/example_run.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/plural.h"
#include "base/stop_notice.h"
#include "data/input_pipeline/record_index.h"
#include "data/input_pipeline/record_index_file.h"
#include "data/preprocess/disk_space.h"
#include "data/preprocess/example_shuffle.h"
#include "data/preprocess/shard_writer.h"
#include "data/preprocess/work_folder.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::data {
namespace {

// Version of the temporary files; other versions of smelt do not resume from them.
constexpr int kWorkVersion = 8;
// Written when drawing is complete, before the shards. Before that the state is in kDocumentsList
// and kDrawingList.
constexpr const char *kState = "examples.json", *kRanges = "examples.ranges";

// Returns everything that determines the output bytes, and the output paths.
OrderedJson describe(const CheckedJob& checked, const ExampleBuilder& builder,
                     std::string_view order) {
  const ShuffleSizes& sizes = checked.job.sizes;
  std::vector<OrderedJson> inputs(checked.inputs.size());
  for_each_file(inputs.size(), checked.inputs.front(), [&](std::size_t i) {
    const auto status = io::file_status(checked.inputs[i]).value_or(io::FileStatus{});
    inputs[i] = {status.size, status.modified};
  });
  return {{"version", kWorkVersion},
          {"kind", builder.kind()},
          {"order", order},
          {"settings", builder.settings()},
          {"vocabulary", checked.vocabulary_crc32c},
          {"seed", checked.job.seed},
          {"text", text_settings(checked)},
          {"inputs", inputs},
          {"outputs", names_of(checked.files.outputs)},
          {"companions", checked.files.indexes},
          {"sizes", {sizes.group_bytes, sizes.document_ranges, sizes.fan_out}}};
}

std::string work_folder_path(const CheckedJob& checked) {
  const std::string& first = checked.files.outputs.front();
  if (!checked.job.work.empty()) return checked.job.work;
  if (!io::is_remote(first) && !is_device(first)) return str(first, kWorkSuffix);
  return temporary_work_folder("outputs", names_of(checked.files.outputs));
}

void save(const WorkFolder& folder, const DrawnExamples& drawn) {
  drawn.examples.spill.save(folder.file(kRanges));
  io::write_file(folder.file(kState), OrderedJson{{"examples", drawn.examples.examples},
                                                  {"counts", drawn.examples.counts},
                                                  {"text", to_json(drawn.text)}}
                                          .dump());
}

DrawnExamples load(const WorkFolder& folder) {
  const Json state = Json::parse(io::read_file(folder.file(kState)));
  return {.examples = {.spill = ExternalShuffle::load(folder.file(kRanges)),
                       .examples = state["examples"],
                       .counts = state["counts"]},
          .text = corpus_counts(state["text"])};
}

// Removes the state of reading and drawing, which is not needed after drawing.
void forget_drawing(const WorkFolder& folder) {
  io::remove_file(folder.file(kDrawingList));
  io::remove_file(folder.file(kDocumentsList));
  ExternalShuffle().remove_others(folder.path(), "documents");
}

bool holds_work(const WorkFolder& folder) {
  return io::exists(folder.file(kState)) || io::exists(folder.file(kDocumentsList));
}

// Throws UsageError if the work folder has an interrupted run with other settings, because a
// mistake in the command must not discard hours of work.
void check_other_job(const WorkFolder& folder, const OrderedJson& job, const ExampleFiles& files) {
  const bool own = !files.own_name.empty();  // --overwrite also replaces the work folder
  if (own && files.overwrite) return;
  const auto other = folder.job();
  if (!other || !holds_work(folder)) return;
  const OrderedJson before = other->flatten(), now = job.flatten();
  OrderedJson all = now;
  all.update(before);
  for (const auto& [name, value] : all.items()) {
    const auto said = [&](const OrderedJson& in) {
      return in.contains(name) ? in[name].dump() : "none";
    };
    if (said(before) != said(now))
      throw UsageError(str("work folder ", folder.path(),
                           ": contains an interrupted run whose examples were drawn with ",
                           name.substr(1), " ", said(before), ", not ", said(now)),
                       own ? "run the same command as before, or use --overwrite"
                           : "run the same command as before, remove the folder, or name "
                             "another with --work");
  }
}

// Checks the job, then resumes from an earlier run's drawn examples or draws them.
class Run {
 public:
  Run(const CheckedJob& checked, const ExampleBuilder& builder, std::string_view order,
      const DrawExamples& draw)
      : checked_(checked),
        files_(checked.files),
        order_(order),
        job_(describe(checked, builder, order)),
        folder_(work_folder_path(checked)),
        made_(files_.outputs.size()) {
    const ExampleJob& job = checked.job;
    options_ = {.folder = folder_.path(),
                .seed = static_cast<std::uint64_t>(job.seed),
                .threads = job.threads > 0 ? static_cast<int>(job.threads) : available_threads(),
                .memory = static_cast<std::size_t>(job.memory),
                .sizes = job.sizes};
    const bool goes_on = folder_.job() == job_ && holds_work(folder_);
    if (goes_on && io::exists(folder_.file(kState)))
      go_on();
    else
      draw_all(draw, builder.passes(), goes_on);
  }

  ExampleSummary finish(const ExampleBuilder& builder) {
    folder_.keep(true);
    log_files("Writing to output files", files_.outputs);
    write_shards(drawn_.examples, builder, files_, made_, options_);
    const ExampleSummary summary{.text = drawn_.text,
                                 .examples = drawn_.examples.examples,
                                 .counts = drawn_.examples.counts};
    write_description(checked_, builder, order_, summary);
    if (summary.examples < made_.size())
      log_warning("some files are empty: {} in {}", counted(summary.examples, "example"),
                  counted(made_.size(), "file"));
    folder_.keep(false);
    return summary;
  }

 private:
  void go_on() {
    const std::size_t count = made_.size();
    // Not vector<bool>, whose elements share bytes across threads.
    std::vector<char> sealed(count), made(count);
    for_each_file(count, files_.outputs.front(), [&](std::size_t i) {
      const std::string& path = files_.outputs[i];
      sealed[i] = is_sealed(path, seal_path(folder_.path(), i)) ? 1 : 0;
      if (sealed[i] && (!files_.indexes || io::exists(record_index_path(path)))) made[i] = 1;
    });
    made_.assign(made.begin(), made.end());
    check_free(files_, std::vector<bool>(sealed.begin(), sealed.end()));
    drawn_ = load(folder_);
    forget_drawing(folder_);
    io::remove_abandoned(files_.all());
    log_info("resuming an interrupted run: {} of {} files are complete",
             std::ranges::count(made_, true), made_.size());
  }

  void draw_all(const DrawExamples& draw, std::uint64_t passes, bool goes_on) {
    if (!goes_on) check_other_job(folder_, job_, files_);
    check_free(files_);
    if (goes_on) {
      log_info("resuming an interrupted run: all documents were already read");
    } else {
      std::vector<std::uint64_t> sizes;
      for (const OrderedJson& input : job_["inputs"]) sizes.push_back(input[0]);
      folder_.begin(job_);  // deletes the state of an earlier job
      io::remove_abandoned(files_.all());
      folder_.keep(false);
      check_space(checked_, space_needed(checked_, sizes, passes), folder_.path());
    }
    io::remove_abandoned(files_.all());
    try {
      drawn_ = draw(options_);
      save(folder_, drawn_);
    } catch (...) {
      folder_.keep(holds_work(folder_));
      throw;
    }
    forget_drawing(folder_);
  }

  const CheckedJob& checked_;
  const ExampleFiles& files_;
  std::string_view order_;
  OrderedJson job_;
  WorkFolder folder_;
  std::vector<bool> made_;  // outputs that an earlier run has written
  ShuffleOptions options_;
  DrawnExamples drawn_;
};

}  // namespace

ExampleSummary run_examples(const CheckedJob& checked, const ExampleBuilder& builder,
                            std::string_view order, const DrawExamples& draw) {
  const StopNotice notice;
  Run run(checked, builder, order, draw);
  ExampleSummary summary = run.finish(builder);
  // Do not stop here: a later run would refuse complete outputs next to an unfinished work folder.
  StopNotice::let_finish();
  return summary;
}

void log_split_sentences(const CorpusCounts& text) {
  if (text.long_sentences > 0)
    log_info("split {} that had more than twice the tokens of an example",
             counted(text.long_sentences, "sentence", "sentences"));
}

void warn_of_long_lines(std::uint64_t kept, const CorpusCounts& text) {
  if (kept >= text.tokens / 2) return;
  log_warning(
      "{} of the text's {} tokens are not in any example: lines longer than an example are "
      "truncated\n"
      "  hint: put a sentence on a line, or cut paragraphs with --sentences prose (text.sentences "
      "in a recipe)",
      text.tokens - kept, text.tokens);
}

}  // namespace smelt::data
