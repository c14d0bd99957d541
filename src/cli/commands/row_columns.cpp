#include "cli/commands/row_columns.h"

#include <CLI/CLI.hpp>

#include "cli/options/number_check.h"

namespace smelt::cli {

void add_column_flags(CLI::App& command, RowColumns& columns, pipeline::RowsToPredict& rows) {
  rows.files.text = rows.files.label = "";
  command.add_option("--format", columns.format, "format of rows; auto: by the file name")
      ->capture_default_str();
  command
      .add_option("--header", columns.header,
                  "first line of a TSV or CSV: names, none (columns are numbers) or skipped")
      ->capture_default_str();
  command.add_option("--field", rows.files.text, "column of the text, or of the question");
  command.add_option("--pair-field", rows.files.pair, "column of a second text");
  command.add_option("--label-field", rows.files.label,
                     "column of the label, or of a T5's target text");
  command.add_option("--prefix", columns.prefix,
                     "for a T5: prefix of each text; default: the prefix used in its fine-tuning");
  command
      .add_option("--seq-length", rows.seq_length, "for a T5: maximum number of tokens per text")
      ->check(number_from(5))
      ->capture_default_str();
  command
      .add_option("--target-length", rows.target_length,
                  "for a T5: maximum number of tokens per answer")
      ->check(number_from(1))
      ->capture_default_str();
}

void take_columns(const RowColumns& columns, const CLI::App& command,
                  pipeline::RowsToPredict& rows) {
  rows.files.format = text::parse_file_format(columns.format);
  rows.files.header = choose_of("--header", columns.header, text::kHeaders);
  if (command.count("--prefix") > 0) rows.prefix = columns.prefix;
}

}  // namespace smelt::cli
