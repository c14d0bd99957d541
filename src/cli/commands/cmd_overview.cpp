#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "base/choice.h"
#include "cli/commands/commands.h"
#include "cli/options/number_check.h"
#include "cli/options/text_flags.h"
#include "data/preprocess/glue.h"
#include "data/preprocess/row_overview.h"

namespace smelt::cli {
namespace {

struct OverviewFlags {
  std::vector<std::string> files;
  data::LabelledFiles columns;
  std::string format = "auto", problem, header = "names", glue;
  data::RowOverviewJob job;
  bool json = false;
};

// Returns names for messages: "data/train.jsonl.gz" is "train"; if two would be equal, the full
// paths.
std::vector<std::string> split_names(const std::vector<std::string>& files) {
  std::vector<std::string> out;
  for (const std::string& file : files) {
    const std::string name = std::filesystem::path(file).filename().string();
    out.push_back(name.substr(0, name.find('.')));
  }
  return std::set(out.begin(), out.end()).size() == out.size() ? out : files;
}

// Sets the files of a GLUE task and their columns.
void take_glue(OverviewFlags& f, const CLI::App& command) {
  for (const char* flag :
       {"--format", "--header", "--field", "--pair-field", "--label-field", "--problem"})
    if (command.count(flag) > 0)
      throw UsageError(str("data overview: --glue with ", flag),
                       "remove the flag, or remove --glue to read other files");
  if (f.files.size() != 1)
    throw UsageError(str("data overview: --glue with ", f.files.size(), " files"),
                     "name the folder of the task, or the folder that contains all tasks");
  const data::GlueTask& task = data::glue_task(f.glue, "--glue");
  const data::GlueFiles files = data::glue_files(task, f.files.front());
  f.files = {files.train, files.dev};
  if (!files.other.empty()) f.files.push_back(files.other);
  f.columns = data::glue_rows(task, "");
  f.header = word_of(task.header, text::kHeaders);
  f.format = text::name(f.columns.format);
  f.problem = word_of(task.problem, io::kProblems);
}

void overview(OverviewFlags f, const CLI::App& command) {
  if (!f.glue.empty()) take_glue(f, command);
  f.columns.format = text::parse_file_format(f.format);
  if (f.problem.empty())
    f.problem = text::format_of(f.files.front(), f.columns.format) == text::FileFormat::conll
                    ? "token_labels"
                    : "single_label";
  f.columns.header = choose_of("--header", f.header, text::kHeaders);
  f.job.are_classes = f.problem != "text_to_text";
  if (f.job.are_classes) f.job.problem = choose_of("--problem", f.problem, io::kProblems);
  f.columns.words = f.job.are_classes && f.job.problem == io::Problem::token_labels;
  f.columns.lists = f.job.are_classes && f.job.problem == io::Problem::multi_label;
  f.columns.needs_label = f.job.are_classes && io::needs_label(f.job.problem);
  const auto names = split_names(f.files);
  for (std::size_t i = 0; i < names.size(); ++i) {
    f.job.splits.push_back({names[i], f.columns});
    f.job.splits.back().files.input = f.files[i];
  }
  const auto found = data::row_overview(f.job);
  std::cout << (f.json ? found.dump(2, ' ', false, JsonInvalidUtf8::replace) + "\n"
                       : data::overview_text(found));
}

}  // namespace

void add_data_overview_command(CLI::App& data) {
  auto f = std::make_shared<OverviewFlags>();
  auto* command = data.add_subcommand(
      "overview", "summarize labelled rows: labels, lengths, duplicates within and across files");
  command
      ->add_option("files", f->files,
                   "JSONL, TSV, CSV, Parquet or CoNLL files: training first, then validation "
                   "and test; with --glue a folder")
      ->required();
  command->add_option("--format", f->format, "format of the files; auto: by the file name")
      ->capture_default_str();
  command
      ->add_option("--header", f->header,
                   "first line of a TSV or CSV: names, none (no header) or skipped; without names, "
                   "columns are numbered from 1, and -1 is the last")
      ->capture_default_str();
  command->add_option("--glue", f->glue,
                      "a GLUE task: cola, sst, mrpc, qqp, sts, mnli, qnli, rte or wnli");
  command->add_option("--field", f->columns.text, "column of the text")->capture_default_str();
  command->add_option("--pair-field", f->columns.pair, "column of a second text");
  command->add_option("--label-field", f->columns.label, "column of the label or target text")
      ->capture_default_str();
  command->add_option(
      "--problem", f->problem,
      "problem type: single_label, multi_label, regression, rerank, token_labels or "
      "text_to_text; "
      "default: token_labels for CoNLL files, single_label for others");
  command->add_option("--vocab", f->job.vocab,
                      "vocab.txt, tokenizer.json or a SentencePiece model; without it, lengths are "
                      "in words");
  command->add_option("--seq-length", f->job.seq_length, "maximum number of tokens per text")
      ->check(number_from(5))
      ->capture_default_str();
  add_tokenizer_flags(*command, f->job.tokenizer);
  command->add_flag("--json", f->json, "print one JSON object");
  command->callback([f, command] { overview(*f, *command); });
}

}  // namespace smelt::cli
