#include "cli/options/text_flags.h"

#include <iostream>
#include <map>
#include <string>

#include "base/number_format.h"
#include "base/plural.h"
#include "base/str.h"
#include "text/tokenizers/segmenter.h"

namespace smelt::cli {

void add_input_flags(CLI::App& command, std::string& input, text::TextFormat& format,
                     text::TextLimits& limits, const std::string& name) {
  command
      .add_option(name, input,
                  "files or patterns, separated by commas; .gz, .bz2 and .zst are unpacked")
      ->required(name == "--input");
  command
      .add_option_function<std::string>(
          "--format",
          [&format](const std::string& word) { format.file = text::parse_file_format(word); },
          "text, jsonl, tsv, tsv-quoted, csv or parquet; auto: by the file name")
      ->default_str("auto");
  command
      .add_option("--field", format.field,
                  "field or column with the text in JSONL, TSV, CSV and Parquet")
      ->capture_default_str();
  format.normalize = text::Normalization::nfc;
  command
      .add_option_function<std::string>(
          "--normalize",
          [&format](const std::string& word) {
            format.normalize = text::parse_normalization(word);
          },
          "Unicode normalization of the input: nfc, or none to leave the text unchanged")
      ->default_str("nfc");
  command
      .add_option("--max-bad", limits.max_bad,
                  str("share of unreadable rows that may be skipped, from 0 to 1; ",
                      text::kFreeBadRows, " rows may always be skipped, unless the share is 0"))
      ->capture_default_str();
  command.add_flag(
      "--strict", limits.strict,
      "stop with an error at the first unreadable row, and at text that is not UTF-8 or has "
      "NUL bytes");
}

void add_tokenizer_flags(CLI::App& command, text::TokenizerFlags& flags) {
  command.add_option("--lower-case", flags.lower_case,
                     "lower-case the text: true or false; default: as stored with the vocabulary, "
                     "else inferred from "
                     "its pieces; false for a new vocabulary");
  command.add_flag_callback(
      "--cased", [&flags] { flags.lower_case = false; }, "same as --lower-case false");
  command.add_option(
      "--strip-accents", flags.strip_accents,
      "remove accents: true or false; default: as stored with the vocabulary, else the value of "
      "--lower-case; false for a new vocabulary");
  const std::map<std::string, text::ControlCharacters> names{
      {"bert", text::ControlCharacters::bert}, {"electra", text::ControlCharacters::electra}};
  command
      .add_option_function<std::string>(
          "--control-characters",
          [&flags, names](const std::string& name) { flags.control = names.at(name); },
          "control characters to remove: bert (Cc, Cf) or electra (all C*)")
      ->check(CLI::IsMember({"bert", "electra"}));
  command.add_option_function<std::string>(
      "--segment-command",
      [&flags](const std::string& words) {
        flags.segment_command = words;
        text::allow_segment_command(words);
      },
      "word segmentation command, such as 'mecab -Owakati': reads lines from standard input and "
      "writes each with spaces between words, unbuffered; also permits the same command stored "
      "with "
      "the vocabulary; none: the text is already split into words");
}

void add_segment_command_flag(CLI::App& command) {
  command.add_option_function<std::string>(
      "--segment-command", text::allow_segment_command,
      "permits running this word segmentation command, which is stored with the model");
}

void add_document_flags(CLI::App& command, text::DocumentOptions& o, const std::string& name) {
  o.checks_lines = true;
  add_input_flags(command, o.input, o.format, o.limits, name);
  command
      .add_option_function<std::string>(
          "--sentences",
          [&o](const std::string& word) { o.sentences = text::parse_sentences(word); },
          "lines: one sentence per line; prose: paragraphs, split into sentences by Unicode's "
          "rules")
      ->default_str("lines");
  command
      .add_option_function<std::string>(
          "--dedup", [&o](const std::string& word) { o.dedup = text::parse_dedup(word); },
          "duplicates to remove: none, lines (repeated lines), exact (repeated documents) or near "
          "(similar documents)")
      ->default_str("none");
  command
      .add_option("--max-lines", o.max_lines,
                  "use only this many lines (rows) from the start; 0: all")
      ->capture_default_str();
}

void print_text_counts(const data::CorpusCounts& text) {
  std::cout << "text:     " << counted(text.files, "file") << ", "
            << counted(text.documents, "document") << ", " << counted(text.sentences, "sentence")
            << ", " << counted(text.tokens, "token") << " ("
            << rounded(100 * share(text.unknown_tokens, text.tokens), 2) << " % unknown)\n";
  if (text.bad_rows > 0)
    std::cout << "skipped:  " << counted(text.bad_rows, "row") << " that cannot be read\n";
  if (text.duplicate_documents + text.duplicate_lines > 0)
    std::cout << "skipped:  " << counted(text.duplicate_documents, "document") << " and "
              << counted(text.duplicate_lines, "line") << " that are duplicates\n";
}

}  // namespace smelt::cli
