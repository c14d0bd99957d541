#include "data/preprocess/electra_examples.h"

#include "base/error.h"
#include "base/log.h"
#include "data/preprocess/electra_original_order.h"
#include "data/preprocess/example_run.h"
#include "data/preprocess/require.h"
#include "data/preprocess/shuffled_order.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "text/tokenizers/casing.h"
#include "text/tokenizers/tokenizer_json.h"

namespace smelt::data {
namespace {

text::BertTokenizer load_electra_tokenizer(const ElectraExamplesJob& job) {
  text::TokenizerFlags flags = job.tokenizer;
  const bool stored = text::is_tokenizer_json(job.vocab) || text::load_tokenizer_config(job.vocab);
  if (!stored && !flags.control) flags.control = text::ControlCharacters::electra;
  return text::BertTokenizer::load(job.vocab, flags);
}

std::vector<std::string> files_of(const std::string& folder, const char* what) {
  const std::string hint = str("name the folder that holds the ", what);
  const auto found = io::file_status(folder);
  require(found.has_value(), str("folder ", folder, " is not there"), hint);
  require(found->is_folder, str(folder, " is a file, not a folder"), hint);
  std::vector<std::string> files;
  for (const std::string& name : io::list_folder(folder))
    files.push_back(io::join_path(folder, name));
  require(!files.empty(), str("folder ", folder, " holds no files"), hint);
  for_each_file(files.size(), files.front(), [&](std::size_t i) {
    const auto status = io::file_status(files[i]);
    require(status && !status->is_folder, str(files[i], " is a folder among the text files"),
            "move it away: the files of one folder are read, not those of folders in it");
  });
  return files;
}

// Throws UsageError if the output is in the text folder, because it would stop the next run.
void check_not_inside(const std::string& output, const std::string& folder) {
  const std::string all = io::canonical_path(folder) + "/";
  require(!io::canonical_path(output).starts_with(all),
          str("output ", output, " is in ", folder, ", the folder of the text files"),
          "name a folder outside of it");
}

ExampleSummary build_original(const ElectraExamplesJob& job) {
  if (!job.folder.empty()) check_not_inside(job.output, job.folder);
  check_plain_text(job.text);
  const CheckedJob checked =
      job.folder.empty()
          ? CheckedJob(job)
          : CheckedJob(
                job, files_of(job.folder, job.archives ? "archives of OpenWebText" : "text files"));
  const text::BertTokenizer tokenizer = load_electra_tokenizer(job);
  const ElectraBuilder builder(tokenizer, job.options);
  return build_electra_in_original_order(checked, job, tokenizer, builder);
}

ExampleSummary build_shuffled(ElectraExamplesJob job) {
  job.text.blanks_end_documents = job.options.blanks_separate_docs;
  const CheckedJob checked(job);
  const text::BertTokenizer tokenizer = load_electra_tokenizer(job);
  const ElectraBuilder builder(tokenizer, job.options);
  return build_in_shuffled_order(checked, tokenizer, builder);
}

}  // namespace

ExampleSummary build_electra_examples(const ElectraExamplesJob& job) {
  const ExampleSummary summary =
      job.order == ExampleOrder::original ? build_original(job) : build_shuffled(job);
  log_split_sentences(summary.text);
  warn_of_long_lines(summary.counts.empty() ? 0 : summary.counts.front(), summary.text);
  log_info("Wrote {} total examples", summary.examples);
  unknown_count(summary.text).warn(job.folder.empty() ? job.text.input : job.folder, job.vocab);
  return summary;
}

}  // namespace smelt::data
