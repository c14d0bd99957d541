#include "text/readers/rows.h"

#include <utility>

#include "base/choice.h"
#include "io/filesystem/decompress.h"
#include "io/filesystem/path.h"
#include "text/readers/conll_rows.h"
#include "text/readers/jsonl_rows.h"
#include "text/readers/parquet_rows.h"
#include "text/readers/squad_rows.h"
#include "text/readers/table_rows.h"

namespace smelt::text {

namespace {

constexpr NamedValues<FileFormat, 9> kFormats{{{"auto", FileFormat::by_name},
                                               {"text", FileFormat::text},
                                               {"jsonl", FileFormat::jsonl},
                                               {"tsv", FileFormat::tsv},
                                               {"tsv-quoted", FileFormat::quoted_tsv},
                                               {"csv", FileFormat::csv},
                                               {"parquet", FileFormat::parquet},
                                               {"conll", FileFormat::conll},
                                               {"squad", FileFormat::squad}}};

FileFormat format_by_name(const std::string& path) {
  const std::string file = io::lower_case_name(path);
  std::string_view name = file;
  for (const std::string_view packed : {".gz", ".bz2", ".zst"})
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  if (name.ends_with(".json"))
    throw UsageError(
        str(path, ": JSON files are not supported, only JSONL"),
        "write one object per line, with `jq -c '.[]'` for an array or `jq -c '.data[]'` for rows "
        "under \"data\"; if the file already has one object per line, use --format jsonl; for "
        "questions in SQuAD's JSON use format squad");
  for (const auto& [ending, format] : {std::pair{".jsonl", FileFormat::jsonl},
                                       {".ndjson", FileFormat::jsonl},
                                       {".tsv", FileFormat::tsv},
                                       {".csv", FileFormat::csv},
                                       {".parquet", FileFormat::parquet},
                                       {".conll", FileFormat::conll},
                                       {".bio", FileFormat::conll},
                                       {".iob2", FileFormat::conll}})
    if (name.ends_with(ending)) return format;
  return FileFormat::text;
}

}  // namespace

FileFormat parse_file_format(std::string_view word, std::string_view what) {
  return choose_of(what, word, kFormats);
}

std::string_view name(FileFormat format) { return word_of(format, kFormats); }

FileFormat format_of(const std::string& path, FileFormat said) {
  const FileFormat format = said == FileFormat::by_name ? format_by_name(path) : said;
  if (format != FileFormat::parquet) io::check_packing(path);
  return format;
}

void append_word(std::string_view word, std::string& words) {
  constexpr std::string_view kNoBreakSpace = "\u00a0";
  if (!words.empty()) words += ' ';
  for (const char c : word)
    if (std::string_view(" \t\n\r").find(c) != std::string_view::npos)
      words += kNoBreakSpace;
    else
      words += c;
}

std::unique_ptr<RowReader> open_rows(const std::string& path, FileFormat format,
                                     const std::vector<Field>& fields, FaultSink faults,
                                     Header header) {
  CHECK(!fields.empty());
  format = format_of(path, format);
  if (header != Header::names && format != FileFormat::tsv && format != FileFormat::quoted_tsv &&
      format != FileFormat::csv)
    throw UsageError(
        str(path, ": header is '", word_of(header, kHeaders), "', but ", name(format), " has none"),
        "remove the setting; only TSV and CSV files have a header");
  switch (format) {
    case FileFormat::jsonl:
      return open_jsonl(path, fields, std::move(faults));
    case FileFormat::tsv:
      return open_tsv(path, fields, header, std::move(faults));
    case FileFormat::quoted_tsv:
      return open_quoted_tsv(path, fields, header, std::move(faults));
    case FileFormat::csv:
      return open_csv(path, fields, header, std::move(faults));
    case FileFormat::parquet:
      return open_parquet(path, fields, std::move(faults));
    case FileFormat::conll:
      return open_conll(path, fields, std::move(faults));
    case FileFormat::squad:
      return open_squad(path, fields, std::move(faults));
    default:
      throw UsageError(str(path, ": plain text has no field '", fields.at(0).name, "'"),
                       "give JSONL, TSV, CSV or Parquet, or set the format: conll for a word and a "
                       "label per line");
  }
}

}  // namespace smelt::text
