#include "data/preprocess/example_job.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "data/preprocess/require.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::data {
namespace {

constexpr std::size_t kLoggedFiles = 20;

}  // namespace

CheckedJob::CheckedJob(const ExampleJob& checked)
    : CheckedJob(checked, io::expand_files(checked.text.input, "input")) {}

CheckedJob::CheckedJob(const ExampleJob& checked, std::vector<std::string> files_to_read)
    : job(checked), inputs(std::move(files_to_read)) {
  require(job.threads >= 0, str("threads ", job.threads, " is less than 0"), "0 takes all cores");
  require(std::cmp_greater_equal(job.memory, job.sizes.least_memory),
          str("memory of ", job.memory, " bytes is less than ", job.sizes.least_memory),
          "the default is 1 GB");
  files = {.outputs = job.own_folder ? shards_of(job.output, job.shards, job.shard_names)
                                     : output_names(job.output, job.shards, job.shard_names),
           .indexes = job.description && !job.own_folder,
           .described = job.description,
           .overwrite = job.overwrite,
           .own_name = job.own_folder ? io::path_name(job.output) : ""};
  if (std::ranges::any_of(files.outputs, is_device)) files.indexes = files.described = false;
  require(io::file_size(job.vocab) > 0, str("vocabulary ", job.vocab, " is empty, or a pipe"),
          "name a file");
  std::vector<std::string> all_inputs = inputs;
  all_inputs.push_back(job.vocab);
  check_apart(files, all_inputs);
  vocabulary_crc32c = smelt::text::vocabulary_crc32c(job.vocab);
}

OrderedJson names_of(const std::vector<std::string>& paths) {
  OrderedJson names = OrderedJson::array();
  for (const std::string& path : paths) names.push_back(text::replace_ill_formed(path));
  return names;
}

text::DocumentOptions documents_of(const CheckedJob& checked) {
  text::DocumentOptions text = checked.job.text;
  text.threads = static_cast<int>(checked.job.threads);
  text.dedup_memory = static_cast<std::size_t>(checked.job.memory) / 2;
  return text;
}

OrderedJson text_settings(const CheckedJob& checked) {
  const text::DocumentOptions text = documents_of(checked);
  const std::string_view format = checked.job.archives ? "archives" : text::name(text.format.file);
  OrderedJson out{{"files", names_of(checked.inputs)},
                  {"format", format},
                  {"field", text.format.field},
                  {"cut_by", text::name(text.sentences)},
                  {"left_out", text::name(text.dedup)},
                  {"max_lines", text.max_lines},
                  {"normalize", text::name(text.format.normalize)},
                  {"strict", text.limits.strict},
                  {"max_bad", text.limits.max_bad}};
  if (text.dedup != text::Dedup::none) out["dedup_memory"] = text.dedup_memory;
  return out;
}

void write_description(const CheckedJob& checked, const ExampleBuilder& builder,
                       std::string_view order, const ExampleSummary& summary) {
  if (!checked.files.described) return;
  OrderedJson out;
  out["kind"] = builder.kind();
  for (const std::string& path : checked.files.outputs)
    out["files"].push_back(text::replace_ill_formed(io::path_name(path)));
  out["examples"] = summary.examples;
  out.update(builder.settings());
  out["vocabulary"] = {{"file", text::replace_ill_formed(checked.job.vocab)},
                       {"crc32c", checked.vocabulary_crc32c}};
  out["order"] = order;
  out["seed"] = checked.job.seed;
  out["text"] = text_settings(checked);
  OrderedJson counts = named_counts(summary.text);
  counts.erase("files");  // the file names are in text_settings()
  out["text"].update(counts);
  out.update(builder.facts(summary.counts));
  io::write_file(checked.files.description(), out.dump(2) + "\n");
}

void log_files(std::string_view title, const std::vector<std::string>& files) {
  log_info("*** {} ***", title);
  const std::size_t shown = files.size() <= kLoggedFiles ? files.size() : kLoggedFiles - 1;
  for (const std::string& file : std::span(files).first(shown)) log_info("  {}", file);
  if (shown < files.size()) log_info("  … {} ({} in all)", files.back(), files.size());
}

}  // namespace smelt::data
