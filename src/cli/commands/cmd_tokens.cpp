#include "cli/commands/cmd_tokens.h"

#include <iostream>
#include <memory>

#include "base/closed_pipe.h"
#include "base/error.h"
#include "base/json.h"
#include "base/plural.h"
#include "base/progress.h"
#include "cli/options/json_output.h"
#include "cli/options/number_check.h"
#include "cli/options/text_flags.h"
#include "data/input_pipeline/inspect_tokens.h"
#include "data/preprocess/token_stores.h"
#include "io/filesystem/file.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::cli {
namespace {

OrderedJson json_of(const data::TokenStatistics& s) {
  OrderedJson out{{"files", s.files},
                  {"tokens", s.tokens},
                  {"documents", s.documents},
                  {"smallest_id", s.ids.smallest},
                  {"largest_id", s.ids.largest},
                  {"out_of_range", s.out_of_range},
                  {"vocab_size", nullptr},
                  {"vocabulary_crc32c", nullptr},
                  {"samples", OrderedJson::array()}};
  if (s.vocabulary.size > 0) out["vocab_size"] = s.vocabulary.size;
  if (s.vocabulary.crc32c) out["vocabulary_crc32c"] = *s.vocabulary.crc32c;
  for (const data::TokenRun& run : s.samples)
    out["samples"].push_back({{"place", run.place}, {"ids", run.ids}});
  return out;
}

std::string words_of(const data::TokenRun& run, const text::Tokenizer* tokenizer) {
  std::string out = str(run.place, "\n ");
  for (const std::int32_t id : run.ids)
    out += tokenizer != nullptr && id < tokenizer->size() ? str(" ", tokenizer->token(id))
                                                          : str(" ", id);
  return out + "\n";
}

std::string text_of(const data::TokenStatistics& s, const text::Tokenizer* tokenizer) {
  std::string out = str("tokens:      ", s.tokens, " in ", counted(s.files, "file"), ", ",
                        counted(s.documents, "document"), "\n", "ids:         ", s.ids.smallest,
                        " to ", s.ids.largest, "\nvocabulary:  ");
  if (s.vocabulary.size > 0)
    out += str(s.vocabulary.size, " pieces, CRC-32C ", s.vocabulary.crc32c.value_or(0), "\n");
  else
    out += "unknown\n";
  for (const data::TokenRun& run : s.samples) out += words_of(run, tokenizer);
  return out;
}

OrderedJson convert_and_print(const data::SnapshotTokensJob& job) {
  OrderedJson out{{"stores", OrderedJson::array()}};
  data::convert_snapshots(job, [&](const data::ConvertedSnapshot& one) {
    std::cout << one.output << ": " << counted(one.tokens, "token") << ", "
              << bytes_text(static_cast<double>(one.bytes)) << "\n"
              << std::flush;
    out["stores"].push_back({{"input", one.input},
                             {"path", one.output},
                             {"tokens", one.tokens},
                             {"documents", one.documents},
                             {"bytes", one.bytes}});
  });
  return out;
}

}  // namespace

void print_token_statistics(const data::InspectOptions& options, bool json) {
  std::unique_ptr<const text::Tokenizer> tokenizer;
  std::int64_t limit = options.vocab_size.value_or(0);
  if (!options.vocab.empty()) {
    tokenizer = text::load_tokenizer(options.vocab, {});
    if (limit == 0) limit = tokenizer->size();
  }
  const data::TokenStatistics found = data::inspect_tokens(options, limit);
  if (json)
    std::cout << json_of(found).dump(2) << "\n";
  else
    std::cout << text_of(found, tokenizer.get());
  if (found.out_of_range > 0)
    throw UsageError(str("inspect: ", found.out_of_range, " tokens are out of range for ", limit,
                         " pieces, first ", found.first_out_of_range),
                     "use the vocabulary that the tokens were made with");
  if (tokenizer && found.vocabulary.crc32c &&
      *found.vocabulary.crc32c != text::vocabulary_crc32c(options.vocab))
    throw UsageError(str("inspect: the tokens were made with another vocabulary than ",
                         options.vocab, ": its CRC-32C is ", *found.vocabulary.crc32c),
                     "use the vocabulary that they were made with");
}

void add_data_tokens_command(CLI::App& data) {
  auto job = std::make_shared<data::TextTokensJob>();
  auto* command =
      data.add_subcommand("tokens", "build a token store from text, for T5 and JEstimator's BERT");
  add_document_flags(*command, job->text);
  command->add_option("--vocab", job->vocab, "vocab.txt, tokenizer.json or a SentencePiece x.model")
      ->required();
  command->add_option("--out", job->output, "the token store to write")->required();
  command->add_option("--document-end", job->document_end,
                      "a piece of the vocabulary to append to each document, such as </s>");
  command->add_option("--threads", job->threads, "number of threads; 0: all cores")
      ->check(number_from(0))
      ->capture_default_str();
  command->add_flag("--overwrite", job->overwrite, "replace an existing store");
  add_tokenizer_flags(*command, job->tokenizer);
  auto json = std::make_shared<bool>(false);
  add_json_flag(*command, *json);
  command->callback([job, json] {
    outlive_output_reader();
    print_result(*json, [&] {
      const data::CorpusCounts text = data::write_text_tokens(*job);
      print_text_counts(text);
      std::cout << "written:  " << job->output << "\n";
      return OrderedJson{{"path", job->output}, {"text", data::named_counts(text)}};
    });
  });
}

void add_data_convert_command(CLI::App& data) {
  auto job = std::make_shared<data::SnapshotTokensJob>();
  auto inputs = std::make_shared<std::vector<std::string>>();
  auto* command =
      data.add_subcommand("convert", "convert folders of tf.data.Dataset.save to token stores");
  command->add_option("input", *inputs, "snapshot folders or patterns")->required();
  command
      ->add_option(
          "--out", job->output,
          "the token store to write; with several folders, * stands for each folder's name")
      ->required();
  command->add_option("--vocab", job->vocab,
                      "vocabulary of the ids: used to check the ids, and stored with them");
  command->add_option("--threads", job->threads, "number of threads; 0: all cores")
      ->check(number_from(0))
      ->capture_default_str();
  auto* overwrite = command->add_flag("--overwrite", job->overwrite, "replace existing stores");
  command
      ->add_flag("--skip-existing", job->skip_existing,
                 "skip existing stores, which are always complete")
      ->excludes(overwrite);
  auto json = std::make_shared<bool>(false);
  add_json_flag(*command, *json);
  command->callback([job, inputs, json] {
    outlive_output_reader();
    job->input = join(*inputs, ",");
    print_result(*json, [&] { return convert_and_print(*job); });
  });
}

}  // namespace smelt::cli
