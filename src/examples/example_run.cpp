#include "examples/example_run.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "base/stop_notice.h"
#include "base/words.h"
#include "data/record_index.h"
#include "data/record_index_file.h"
#include "examples/example_shuffle.h"
#include "examples/shard_writer.h"
#include "examples/work_folder.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace {

using Json = ExampleBuilder::Json;

// Of the temporary files; another version of smelt does not go on with them.
constexpr int kWorkVersion = 5;
// Written last before the shards are: drawing is over.
constexpr const char *kState = "examples.json", *kRanges = "examples.ranges";

// All that decides the bytes of the result, and where it goes.
Json describe(const CheckedJob& checked, const ExampleBuilder& builder, std::string_view order) {
  const ShuffleSizes& sizes = checked.job.sizes;
  std::vector<Json> inputs(checked.inputs.size());
  for_each_file(inputs.size(), checked.inputs.front(), [&](std::size_t i) {
    const auto status = file_status(checked.inputs[i]).value_or(FileStatus{});
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
  if (!is_remote(first) && !is_device(first)) return str(first, kWorkSuffix);
  return temporary_work_folder("outputs", names_of(checked.files.outputs));
}

void save(const WorkFolder& folder, const DrawnExamples& drawn) {
  const CorpusCounts& c = drawn.text;
  drawn.examples.spill.save(folder.file(kRanges));
  const Json text{c.files,          c.documents,     c.sentences,           c.tokens,
                  c.unknown_tokens, c.dropped_bytes, c.duplicate_documents, c.duplicate_lines,
                  c.bad_rows};
  write_file(
      folder.file(kState),
      Json{{"examples", drawn.examples.examples}, {"counts", drawn.examples.counts}, {"text", text}}
          .dump());
}

DrawnExamples load(const WorkFolder& folder) {
  const Json state = Json::parse(read_file(folder.file(kState)));
  const Json& text = state["text"];
  return {.examples = {.spill = Spill::load(folder.file(kRanges)),
                       .examples = state["examples"],
                       .counts = state["counts"]},
          .text = {.files = text[0],
                   .documents = text[1],
                   .sentences = text[2],
                   .tokens = text[3],
                   .unknown_tokens = text[4],
                   .dropped_bytes = text[5],
                   .bad_rows = text[8],
                   .duplicate_documents = text[6],
                   .duplicate_lines = text[7]}};
}

// Hours of work are not thrown away for a slip in the command.
void check_other_job(const WorkFolder& folder, const Json& job, const ExampleFiles& files) {
  const bool own = !files.own_name.empty();  // and with it all that --overwrite replaces
  if (own && files.overwrite) return;
  const auto other = folder.job();
  if (!other || !exists(folder.file(kState))) return;
  const Json before = other->flatten(), now = job.flatten();
  Json all = now;
  all.update(before);
  for (const auto& [name, value] : all.items()) {
    const auto said = [&](const Json& in) { return in.contains(name) ? in[name].dump() : "none"; };
    if (said(before) != said(now))
      throw UsageError(str("work folder ", folder.path(),
                           ": of a run that was stopped, holds examples drawn with ",
                           name.substr(1), " ", said(before), ", not ", said(now)),
                       own ? "go on with the same command as before, or say --overwrite"
                           : "go on with the same command as before, remove the folder, or name "
                             "another with --work");
  }
}

// Checks everything, then goes on with what an earlier run has drawn, or draws.
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
    if (folder_.job() == job_ && exists(folder_.file(kState)))
      go_on();
    else
      begin(draw);
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
      spdlog::warn("some files are empty: {} in {}", counted(summary.examples, "example"),
                   counted(made_.size(), "file"));
    folder_.keep(false);
    return summary;
  }

 private:
  void go_on() {
    const std::size_t count = made_.size();
    std::vector<char> sealed(count), made(count);  // bits of one byte are not for several threads
    for_each_file(count, files_.outputs.front(), [&](std::size_t i) {
      const std::string& path = files_.outputs[i];
      sealed[i] = is_sealed(path, seal_path(folder_.path(), i)) ? 1 : 0;
      if (sealed[i] && (!files_.indexes || exists(record_index_path(path)))) made[i] = 1;
    });
    made_.assign(made.begin(), made.end());
    check_free(files_, std::vector<bool>(sealed.begin(), sealed.end()));
    drawn_ = load(folder_);
    remove_abandoned(files_.all());
    spdlog::info("going on with a run that was stopped: {} of {} files are whole",
                 std::ranges::count(made_, true), made_.size());
  }

  void begin(const DrawExamples& draw) {
    check_other_job(folder_, job_, files_);
    check_free(files_);
    folder_.begin(job_);
    remove_abandoned(files_.all());
    drawn_ = draw(options_);
    save(folder_, drawn_);
  }

  const CheckedJob& checked_;
  const ExampleFiles& files_;
  std::string_view order_;
  Json job_;
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
  StopNotice::let_finish();  // as whole examples beside a folder of unfinished ones are refused
  return summary;
}

}  // namespace smelt
