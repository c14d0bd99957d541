#include "pipeline/stages/stage_actions.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "data/preprocess/prose.h"
#include "data/preprocess/vocabulary_job.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "text/tokenizers/segmenter.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::pipeline {
namespace {

void warn_of_added_tokens(const std::string& vocab) {
  std::vector<std::string> names;
  for (const text::AddedToken& token : text::added_pieces(vocab).tokens)
    names.push_back(token.content);
  if (!names.empty())
    log_warning("{}: pre-training splits added tokens into pieces: {}", vocab,
                shortened(join(names, ", "), 80));
}

// Copies an existing vocabulary. Derives tokenizer settings that the recipe does not set from the
// pieces.
void take_vocabulary(const Recipe& r, const std::string& file) {
  const std::string to = RecipePaths(r).vocab,
                    command = text::segment_command_of(file, tokenizer_flags(r));
  if (!command.empty()) text::Segmenter::of(command)->check_allowed(file);
  if (is_sentencepiece(r)) {
    io::write_file(to, text::sentencepiece_model(file));
    // The settings have their own file because the model file does not contain them.
    const std::string beside = io::join_path(io::parent_path(to), "tokenizer_config.json");
    if (r.type->reads_text()) warn_of_added_tokens(file);
    const std::string config = text::config_beside_copy(file);
    config.empty() ? io::remove_file(beside) : io::write_file(beside, config);
    return text::store_segment_command(to, command);
  }
  const text::BertTokenizer given = text::BertTokenizer::load(file, tokenizer_flags(r));
  // A recipe stored in a run's folder sets every field, so the default value does not count as the
  // user's choice.
  const bool is_users = r.vocab.split_chinese != VocabSection().split_chinese ||
                        r.origin({"vocab.split_chinese"}) == "--set";
  if (is_users && !given.subword() && given.options().split_chinese != r.vocab.split_chinese)
    throw UsageError(
        str("vocab.split_chinese is ", r.vocab.split_chinese ? "true" : "false", ", but ", file,
            " was made with ", given.options().split_chinese ? "true" : "false"),
        "remove vocab.split_chinese");
  given.save(to);
  warn_about_ignored_size(r, file, given.size());
  log_info("vocab: {} of {}, text is {}lower-cased", counted(given.size(), "piece"), file,
           given.options().lower_case ? "" : "not ");
}

// Removes a vocabulary in the other format that an earlier vocab.type left, so that the run's
// folder contains only one.
void remove_other_form(const Recipe& r, const std::string& given) {
  const std::string made = RecipePaths(r).vocab;
  for (const char* name : {"vocab.txt", "tokenizer.json"})
    if (const std::string path = io::join_path(r.out, name); path != made && path != given)
      io::remove_file(path);
}

text::DocumentOptions text_of(const Recipe& r) {
  text::DocumentOptions text;
  text.input = r.text.input;
  text.format = {.file = text::parse_file_format(r.text.format),
                 .field = r.text.field,
                 .normalize = text::parse_normalization(r.text.normalize)};
  text.sentences = text::parse_sentences(r.text.sentences);
  text.dedup = text::parse_dedup(r.text.dedup);
  text.max_lines = r.text.max_lines;
  text.limits = {.strict = r.text.strict, .max_bad = r.text.max_bad};
  return text;
}

}  // namespace

void check_text(const Recipe& r) {
  constexpr std::uint64_t kMostBytes = 64 << 20;
  data::check_prose(text_of(r), kMostBytes);
}

void make_text(const Recipe& r) {
  const RecipePaths paths(r);
  if (!io::is_remote(r.out)) io::remove_abandoned({paths.train_text, paths.heldout_text});
  data::ProseJob job;
  job.text = text_of(r);
  job.train_out = paths.train_text;
  job.heldout_out = paths.heldout_text;
  job.heldout = r.text.heldout;
  const data::ProseSummary s = data::prepare_prose(job);
  log_info(
      "text: {} in {}, {} of them held out, {} repeated paragraphs, lines or documents removed",
      counted(s.sentences, "sentence"), counted(s.documents, "document"), s.heldout_documents,
      s.read.duplicate_lines + s.read.duplicate_documents);
}

void make_vocabulary(const Recipe& r) {
  const std::string given = given_vocabulary(r);
  remove_other_form(r, given);
  if (!given.empty()) return take_vocabulary(r, given);
  const RecipePaths paths(r);
  data::VocabularyJob job;
  job.text.input = paths.train_text;
  job.out = paths.vocab;
  job.type = is_sentencepiece(r) && r.vocab.type == "auto"
                 ? data::VocabularyType::unigram
                 : data::parse_vocabulary_type(r.vocab.type);
  job.trainer = {
      .vocab_size = r.vocab.size,
      .min_frequency = r.vocab.min_frequency,
      .alphabet_limit = r.vocab.alphabet,
      .reserved = is_sentencepiece(r) ? r.type->special_pieces : std::vector<std::string>{}};
  job.normalization = r.vocab.normalization;
  job.byte_fallback = r.vocab.byte_fallback;
  job.unused = r.vocab.unused;
  job.coverage = r.vocab.coverage;
  text::TokenizerFlags flags = tokenizer_flags(r);
  if (r.vocab.strip_accents == "auto") flags.strip_accents = r.vocab.lower_case;
  job.tokenizer = text::new_vocabulary_options(flags, r.vocab.language, "vocab.language");
  job.tokenizer.split_chinese = r.vocab.split_chinese;
  job.overwrite = true;
  const data::VocabularySummary s = data::train_vocabulary(job);
  if (s.words > 0)
    log_info("vocab: {} from {} ({} distinct)", counted(s.size, "piece"),
             counted(s.words, "word or punctuation mark", "words and punctuation marks"),
             s.distinct_words);
  else
    log_info("vocab: {} from {}", counted(s.size, "piece"), counted(s.text.lines, "line"));
  if (s.unused > job.unused)
    log_info("vocab: {} of them are [unusedN], because the text yields no more pieces",
             s.unused - job.unused);
}

void make_examples(const Recipe& r) {
  if (has_no_validation(r)) {
    const std::uint64_t all = r.type->make_examples(r, ExampleSet::train);
    log_info("data: {} to train on, none held out", counted(all, "example"));
    return;
  }
  const std::uint64_t heldout = r.type->make_examples(r, ExampleSet::heldout);
  if (heldout == 0)
    throw UsageError("data: no held-out examples", "raise text.heldout, or give more text");
  const std::uint64_t train = r.type->make_examples(r, ExampleSet::train);
  log_info("data: {} to train on, {} held out", counted(train, "example"), heldout);
}

}  // namespace smelt::pipeline
