#include "pipeline/config/recipe_paths.h"

#include "base/error.h"
#include "data/preprocess/example_files.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_checks.h"

namespace smelt::pipeline {

text::TokenizerFlags tokenizer_flags(const Recipe& r) {
  text::TokenizerFlags flags{.control = r.type->control};
  flags.segment_command_name = "vocab.segment_command";
  if (!r.vocab.segment_command.empty()) flags.segment_command = r.vocab.segment_command;
  // SentencePiece has no casing settings, but a stored recipe sets these fields, to their defaults.
  if (is_sentencepiece(r)) return flags;
  flags.lower_case_name = "vocab.lower_case";
  flags.strip_accents_name = "vocab.strip_accents";
  flags.control_name = "model.type";  // determines how control characters are handled
  if (r.is_set("vocab.lower_case")) flags.lower_case = r.vocab.lower_case;
  if (r.is_set("vocab.strip_accents") && r.vocab.strip_accents != "auto")
    flags.strip_accents = r.vocab.strip_accents == "true";
  return flags;
}

// Returns the file name: tokenizer.json supports vocabularies of any type, vocab.txt only
// WordPiece.
static const char* vocabulary_name(const Recipe& r) {
  if (is_sentencepiece(r)) return "vocab.model";
  return r.vocab.type == "wordpiece" ? "vocab.txt" : "tokenizer.json";
}

RecipePaths::RecipePaths(const Recipe& r)
    : train_text(io::join_path(r.out, "text/train.txt")),
      heldout_text(io::join_path(r.out, "text/heldout.txt")),
      vocab(io::join_path(r.out, vocabulary_name(r))),
      train_output(io::join_path(r.out, str("data/train.", r.type->records))),
      heldout_output(io::join_path(r.out, str("data/heldout.", r.type->records))),
      train_records(r.ready.records),
      heldout_records(r.ready.heldout),
      model_dir(io::join_path(r.out, "model")),
      evaluation(io::join_path(r.out, "model/eval_results.txt")),
      hugging_face(io::join_path(r.out, "huggingface")),
      trained(!r.trained->empty() ? *r.trained
              : r.eval.best       ? io::join_path(model_dir, "best")
                                  : model_dir) {
  name_records(r);
  const bool test = r.eval.split == "test";
  if (test) evaluation = io::join_path(model_dir, "test_results.txt");
  scored = test ? test_records : heldout_records;
  predictions = io::join_path(model_dir, test ? "test_predictions.jsonl" : "predictions.jsonl");
}

void RecipePaths::name_records(const Recipe& r) {
  if (!train_records.empty()) return;
  if (!r.data.value("test", "").empty())
    test_records = io::join_path(r.out, str("data/test.", r.type->records));
  train_records = r.ready.shards == 1 ? train_output
                                      : join(data::output_names(train_output, r.ready.shards), ",");
  heldout_records = has_no_validation(r) ? "" : heldout_output;
}

std::vector<std::string> record_files(const std::string& records) {
  std::vector<std::string> out;
  for (const std::string_view one : split(records, ','))
    for (std::string& file : io::match_pattern(std::string(trim(one)), "data.records"))
      out.push_back(std::move(file));
  return out;
}

std::string vocabulary_path(const Recipe& r) {
  std::string vocab = RecipePaths(r).vocab;
  if (!io::exists(vocab))
    throw UsageError(str(r.out, ": the vocabulary is not made yet (", vocab, ")"),
                     "run the recipe with `smelt run`");
  return vocab;
}

text::Vocabulary vocabulary_of(const Recipe& r) {
  return text::Vocabulary::load(vocabulary_path(r));
}

std::string made_vocabulary(const RecipePaths& paths) {
  return io::exists(paths.vocab) ? paths.vocab : "";
}

std::vector<std::string> text_inputs(const Recipe& r) {
  if (r.text.input.empty())
    throw UsageError("text.input: no text", "give files or patterns with --set text.input=…");
  return io::expand_files(r.text.input, "text.input");
}

}  // namespace smelt::pipeline
