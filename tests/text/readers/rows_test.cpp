// Rows with several named fields are the same from every format.
#include "text/readers/rows.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <cmath>

#include "base/error.h"
#include "io/filesystem/arrow_file.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Row = std::vector<std::string>;

const std::vector<Field> kTextAndLabel{{.name = "text"}, {.name = "label", .is_text = false}};

class Rows : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    io::write_file(dir_.file(name), bytes);
    return dir_.file(name);
  }
  std::string write_parquet(const std::string& name, const std::shared_ptr<arrow::Table>& table,
                            std::int64_t rows_of_group = 2) {
    const auto out = arrow::io::FileOutputStream::Open(dir_.file(name)).ValueOrDie();
    const auto properties = parquet::WriterProperties::Builder().disable_dictionary()->build();
    // Also stores the table's metadata, as pyarrow does.
    const auto schema = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, rows_of_group,
                                           properties, schema)
                    .ok());
    EXPECT_TRUE(out->Close().ok());
    return dir_.file(name);
  }
  std::vector<Row> read(const std::string& path, const std::vector<Field>& fields = kTextAndLabel,
                        FileFormat format = FileFormat::by_name, Header header = Header::names) {
    const auto tell = [&](const TextFault& fault) { faults_.add(fault, path); };
    const auto rows = open_rows(path, format, fields, tell, header);
    std::vector<Row> out;
    for (Row row; rows->next(row);) out.push_back(row);
    EXPECT_EQ(rows->bytes_read(), io::read_file(path).size());
    return out;
  }
  // Reads with `strict` and returns the error.
  std::string refusal(const std::string& path, const std::vector<Field>& fields = kTextAndLabel,
                      Header header = Header::names) {
    faults_ = TextFaults({.strict = true});
    return error_of<UsageError>([&] { read(path, fields, FileFormat::by_name, header); });
  }

  TempDir dir_;
  TextFaults faults_;
};

template <class Builder, class Value>
std::shared_ptr<arrow::Array> column(const std::vector<std::optional<Value>>& values) {
  Builder builder;
  for (const auto& value : values)
    EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Table> table_of(
    const std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

std::shared_ptr<arrow::Array> texts(const std::vector<std::optional<std::string>>& values) {
  return column<arrow::StringBuilder>(values);
}

const std::vector<Field> kSecondAndLast{{.name = "2"}, {.name = "-1", .is_text = false}};

TEST_F(Rows, ColumnsWithoutAHeaderAreSelectedByNumber) {
  const std::string tsv = write("a.tsv", "\xef\xbb\xbfg\t\"one\t\t1\n\ng\ttwo\t2\r\n");
  EXPECT_THAT(read(tsv, kSecondAndLast, FileFormat::by_name, Header::none),
              ElementsAre(Row{"\"one", "1"}, Row{"two", "2"}));
  EXPECT_THAT(read(tsv, {{.name = "-2"}, {.name = "1"}}, FileFormat::by_name, Header::skipped),
              ElementsAre(Row{"two", "g"}));
  const std::string csv = write("a.csv", "\"a\nb\",c\nx,\"y\nz\",1,2\n");
  EXPECT_THAT(read(csv, kSecondAndLast, FileFormat::by_name, Header::skipped),
              ElementsAre(Row{"y\nz", "2"}));
  EXPECT_THAT(read(tsv, {{.name = "1"}, {.name = "id", .is_optional = true}}, FileFormat::by_name,
                   Header::skipped),
              ElementsAre(Row{"g", ""}));
  EXPECT_THAT(read(write("none.tsv", ""), kSecondAndLast, FileFormat::by_name, Header::skipped),
              ElementsAre());
}

TEST_F(Rows, ThrowIfColumnNumbersDoNotFit) {
  const std::string tsv = write("a.tsv", "a\tb\tc\nonly\n");
  EXPECT_THAT(refusal(tsv, kSecondAndLast, Header::none),
              HasSubstr("a.tsv:2: no column 2 among 1\n  hint: column 1 is the first"));
  EXPECT_THAT(refusal(tsv, {{.name = "-2"}}, Header::none), HasSubstr("no column -2 among 1"));
  for (const char* name : {"text", "0", "1x", ""})
    EXPECT_THAT(
        refusal(tsv, {{.name = name}}, Header::none),
        HasSubstr(str("a.tsv: '", name, "' is not a column number\n  hint: use column numbers")));
  EXPECT_THAT(refusal(write("a.csv", "\"open\n1,2\n"), {{.name = "1"}}, Header::skipped),
              HasSubstr("a.csv:1: a quote is not closed before the end of the file"));
  EXPECT_THAT(
      refusal(write("a.jsonl", "{}\n"), {{.name = "1"}}, Header::none),
      HasSubstr("a.jsonl: header is 'none', but jsonl has none\n  hint: remove the setting"));
}

TEST_F(Rows, HaveTheRequestedFieldsInOrderInEveryFormat) {
  const auto wanted = ElementsAre(Row{"One.", "3"}, Row{"Two, \xC3\xA9.", "-1"});
  const auto labels = column<arrow::Int32Builder, std::int32_t>({3, -1, 5, {}});
  const std::vector<std::string> paths{
      write("a.jsonl",
            "{\"label\": 3, \"id\": [], \"text\": \"One.\"}\n\n"
            "{\"text\": \"Two, \xC3\xA9.\", \"label\": -1}\n"),
      write("a.tsv", "\xEF\xBB\xBFlabel\tid\ttext\r\n3\tx\tOne.\r\n-1\t\tTwo, \xC3\xA9.\r\n"),
      write("a.csv", "\xEF\xBB\xBF\"label\",id,text\r\n3,x,One.\r\n\r\n-1,,\"Two, \xC3\xA9.\""),
      write_parquet("a.parquet", table_of({{"label", labels},
                                           {"id", texts({"a", "b", "c", "d"})},
                                           {"text", texts({"One.", "Two, \xC3\xA9.", {}, "x"})}}))};
  for (const std::string& path : paths) EXPECT_THAT(read(path), wanted) << path;
  for (const std::string& path : paths)
    EXPECT_EQ(read(path, {{.name = "label", .is_text = false}})[1], Row{"-1"}) << path;
}

TEST_F(Rows, AcceptNumbersAndBooleansInNonTextFields) {
  EXPECT_THAT(read(write("a.jsonl",
                         "{\"text\": \"\", \"label\": 0.5}\n"
                         "{\"text\": \"\", \"label\": true}\n"
                         "{\"text\": \"\", \"label\": \"yes\"}\n")),
              ElementsAre(Row{"", "0.5"}, Row{"", "true"}, Row{"", "yes"}));
  const auto of = [&](const std::shared_ptr<arrow::Array>& labels) {
    return read(write_parquet("a.parquet",
                              table_of({{"text", texts({"a", "b", "c"})}, {"label", labels}})));
  };
  EXPECT_EQ(of(column<arrow::BooleanBuilder, bool>({true, false, true}))[1][1], "false");
  EXPECT_EQ(of(column<arrow::DoubleBuilder, double>({0.25, -1e300, 2}))[1][1], "-1e+300");
  EXPECT_EQ(of(column<arrow::FloatBuilder, float>({0.1F, 1, 2}))[0][1], "0.1");
  EXPECT_EQ(of(column<arrow::Int64Builder, std::int64_t>({INT64_MIN, 1, 2}))[0][1],
            "-9223372036854775808");
  EXPECT_EQ(of(column<arrow::UInt64Builder, std::uint64_t>({UINT64_MAX, 1, 2}))[0][1],
            "18446744073709551615");
  EXPECT_EQ(of(column<arrow::UInt8Builder, std::uint8_t>({200, 1, 2}))[0][1], "200");
  EXPECT_EQ(of(texts({"x", "y", "z"}))[2][1], "z");
}

// Real numbers are formatted as in JSON and Python, so that labels of tables in different formats
// are equal.
TEST_F(Rows, RealNumbersAreFormattedTheSameInEveryFormat) {
  const auto wanted = ElementsAre(Row{"a", "1.0"}, Row{"b", "0.1"}, Row{"c", "100000.0"});
  EXPECT_THAT(read(write("a.csv", "text,label\na,1.0\nb,0.1\nc,100000.0\n")), wanted);
  EXPECT_THAT(read(write("a.jsonl",
                         "{\"text\": \"a\", \"label\": 1.0}\n{\"text\": \"b\", \"label\": 0.1}\n"
                         "{\"text\": \"c\", \"label\": 100000.0}\n")),
              wanted);
  const auto names = texts({"a", "b", "c", "d"});
  const auto parquet = [&](const std::shared_ptr<arrow::Array>& labels) {
    return read(write_parquet("a.parquet", table_of({{"text", names}, {"label", labels}})));
  };
  EXPECT_THAT(parquet(column<arrow::DoubleBuilder, double>({1, 0.1, 1e5, NAN})), wanted);
  EXPECT_THAT(parquet(column<arrow::FloatBuilder, float>({1, 0.1F, 1e5F, NAN})), wanted);
}

TEST_F(Rows, JsonlAcceptsListsOfLabels) {
  const std::vector<Field> lists{{.name = "label", .is_text = false, .is_list = true}};
  EXPECT_THAT(read(write("a.jsonl",
                         "{\"label\": [\"x, y\", \"z\"]}\n{\"label\": []}\n{\"label\": [1, 2.0]}\n"
                         "{\"label\": \"x,y\"}\n{\"label\": 3}\n"),
                   lists),
              ElementsAre(Row{"[\"x, y\",\"z\"]"}, Row{"[]"}, Row{"[\"1\",\"2.0\"]"}, Row{"x,y"},
                          Row{"3"}));
  EXPECT_THAT(refusal(write("b.jsonl", "{\"label\": [\"a\", null]}\n"), lists),
              HasSubstr("b.jsonl:1: field 'label' holds null in its list"));
}

// A list<string> or list<int32> column; nullopt is a null list.
template <class Builder, class Value>
std::shared_ptr<arrow::Array> list_column(
    const std::vector<std::optional<std::vector<Value>>>& rows) {
  const auto values = std::make_shared<Builder>();
  arrow::ListBuilder list(arrow::default_memory_pool(), values);
  for (const auto& row : rows) {
    EXPECT_TRUE((row ? list.Append() : list.AppendNull()).ok());
    for (const auto& value : row.value_or(std::vector<Value>())) {
      EXPECT_TRUE(values->Append(value).ok());
    }
  }
  return list.Finish().ValueOrDie();
}

TEST_F(Rows, ParquetListsAreWordsOrListsOfLabels) {
  using Words = std::vector<std::string>;
  using Numbers = std::vector<std::int32_t>;
  std::vector<std::optional<Words>> words(304, Words{"a", "b", "c"});  // more than are read at once
  std::vector<std::optional<Numbers>> labels(304, Numbers{0, 1, 0});
  words[0] = Words{"New York", "is"};
  labels[0] = Numbers{1, 0};
  words[1] = Words{"big"};
  labels[1] = Numbers{7};
  words[2] = Words();
  labels[2] = Numbers();
  words[3].reset();
  labels[3].reset();
  auto table = table_of({{"tokens", list_column<arrow::StringBuilder, std::string>(words)},
                         {"tags", list_column<arrow::Int32Builder, std::int32_t>(labels)}});
  const std::vector<Field> fields{{.name = "tokens", .is_words = true},
                                  {.name = "tags", .is_text = false, .is_words = true},
                                  {.name = "tags.list.element", .is_text = false, .is_list = true}};
  const auto check = [&](const std::string& o, const std::string& b) {
    const std::vector<Row> rows = read(write_parquet("l.parquet", table, 200), fields);
    ASSERT_EQ(rows.size(), 304u);
    EXPECT_THAT(rows[0], ElementsAre("New\u00a0York is", str(b, " ", o), testing::_));
    EXPECT_THAT(rows[1], ElementsAre("big", "7", R"(["7"])"));
    EXPECT_THAT(rows[2], ElementsAre("", "", "[]"));
    EXPECT_THAT(rows[3], ElementsAre("", "", "[]"));
    for (std::size_t i = 4; i < rows.size(); ++i)
      ASSERT_THAT(rows[i], ElementsAre("a b c", str(o, " ", b, " ", o), testing::_)) << i;
  };
  check("0", "1");
  // The library `datasets` stores the names of classes with the schema.
  table = table->ReplaceSchemaMetadata(arrow::key_value_metadata(
      {{"huggingface", R"({"info": {"features": {"tags": {"feature": {"names": ["O", "B-LOC"],
                           "_type": "ClassLabel"}, "_type": "Sequence"}}}})"}}));
  check("O", "B-LOC");
  EXPECT_THAT(refusal(write_parquet("l.parquet", table), {{.name = "tokens"}}),
              HasSubstr("column 'tokens' is a list, not text"));
  EXPECT_THAT(refusal(write_parquet("l.parquet", table), {{.name = "token", .is_words = true}}),
              HasSubstr("no column 'token'\n  hint: did you mean 'tokens'?"));
  table = table_of({{"tokens", list_column<arrow::StringBuilder, std::string>({Words{"a", ""}})}});
  EXPECT_THAT(refusal(write_parquet("e.parquet", table), {fields[0]}),
              HasSubstr("e.parquet:1: column 'tokens' holds an empty string in its list"));
}

TEST_F(Rows, ParquetReadsNestedColumns) {
  const auto inner = texts({"One.", "Two."});
  const auto outer =
      arrow::StructArray::Make({inner}, std::vector<std::string>{"text"}).ValueOrDie();
  EXPECT_THAT(read(write_parquet("a.parquet", table_of({{"doc", outer}})), {{.name = "doc.text"}}),
              ElementsAre(Row{"One."}, Row{"Two."}));
}

TEST_F(Rows, CsvCellsMayContainQuotesCommasAndNewlines) {
  EXPECT_THAT(read(write("a.csv", "text,label\n\"a \"\"b\"\", c\nd\",1\n\"\",\n x \"y\" ,\"2\"\n")),
              ElementsAre(Row{"a \"b\", c\nd", "1"}, Row{"", ""}, Row{" x \"y\" ", "2"}));
}

TEST_F(Rows, MalformedCsvRowsAreReportedWithTheirLine) {
  EXPECT_THAT(refusal(write("a.csv", "text,label\n\n\"a\nb\",1\na,b,c\n")),
              HasSubstr("a.csv:5: more columns than the 2 of the first line\n  hint: put fields"));
  EXPECT_THAT(refusal(write("b.csv", "text,label\nx,1\n\"a,\nb\n")),
              HasSubstr("b.csv:3: a quote is not closed before the end of the file"));
  EXPECT_THAT(refusal(write("c.csv", "text,label\n\"a\"b,1\n")),
              HasSubstr("c.csv:2: 'b,1' after the closing quote of a field"));
  EXPECT_THAT(refusal(write("d.csv", "txt,label\n")),
              HasSubstr("d.csv:1: no column 'text'\n  hint: did you mean 'txt'?"));
  EXPECT_THAT(refusal(write("e.csv", "text;label\na;b\n")),
              HasSubstr("e.csv:1: no column 'text'\n  hint: the first line has one column, "
                        "'text;label': separate columns by commas in a CSV"));
  EXPECT_THAT(refusal(write("e.csv", "")),
              HasSubstr("e.csv: is empty, expected a line with the column names"));
  EXPECT_THAT(refusal(write("f.csv", "text,label\nx\n")),
              HasSubstr("f.csv:2: 1 columns, but the first line has 2"));
}

// The lines after a stray quote are read again as rows, whether it is open until the end of the
// file or followed by another quote.
TEST_F(Rows, CsvRowsAfterAStrayQuoteAreKept) {
  faults_ = TextFaults();
  EXPECT_THAT(read(write("a.csv", "text,label\na,1\n\"open,2\nb,3\n\nc,4\n")),
              ElementsAre(Row{"a", "1"}, Row{"b", "3"}, Row{"c", "4"}));
  EXPECT_EQ(faults_.bad_rows(), 1u);
  EXPECT_THAT(read(write("b.csv", "text,label\n\"open,1\nb,2\n\"q, r\",3\n\"s\nt\",4\n")),
              ElementsAre(Row{"b", "2"}, Row{"q, r", "3"}, Row{"s\nt", "4"}));
  EXPECT_EQ(faults_.bad_rows(), 2u);
  // Two open quotes, the second among the lines that are read again.
  EXPECT_THAT(read(write("c.csv", "text,label\n\"x\"\"y,1\n\"z\"\"w,2\nb,3\n")),
              ElementsAre(Row{"b", "3"}));
  EXPECT_EQ(faults_.bad_rows(), 4u);
}

TEST_F(Rows, EachLineOfABadCsvRowCountsAsABadRow) {
  faults_ = TextFaults();
  EXPECT_THAT(read(write("a.csv", "text,label\n\"a\nb,c\nd\",1,2\nx,3\n")),
              ElementsAre(Row{"x", "3"}));
  EXPECT_EQ(faults_.bad_rows(), 3u);
}

TEST_F(Rows, QuotedTsvUnquotesCells) {
  const std::string tsv =
      write("a.tsv", "text\tlabel\n\"a \"\"b\"\"\tc\nd\"\t1\n\"5 inches\t2\nx \"y\"\t3\n");
  faults_ = TextFaults();
  EXPECT_THAT(read(tsv, kTextAndLabel, FileFormat::quoted_tsv),
              ElementsAre(Row{"a \"b\"\tc\nd", "1"}, Row{"x \"y\"", "3"}));
  EXPECT_EQ(faults_.bad_rows(), 1u);
  EXPECT_EQ(parse_file_format("tsv-quoted"), FileFormat::quoted_tsv);
  EXPECT_THAT(error_of<UsageError>([&] { read(tsv, {{.name = "c"}}, FileFormat::quoted_tsv); }),
              HasSubstr("a.tsv:1: no column 'c'"));
}

TEST_F(Rows, PlainTsvReportsQuotedCells) {
  const CapturedLog log;
  faults_ = TextFaults();
  EXPECT_THAT(
      read(write("a.tsv",
                 "text\tlabel\n\"Yes\", she said\t1\n\"a \"\"b\"\"\"\t2\n"
                 "\"two\nlines\"\t3\n")),
      ElementsAre(Row{"\"Yes\", she said", "1"}, Row{"\"a \"\"b\"\"\"", "2"}, Row{"lines\"", "3"}));
  faults_.add_good_row();
  faults_.finish();
  EXPECT_THAT(log.text(), HasSubstr("2 cells of TSV files are written in quotes, which the format "
                                    "tsv reads as part of the text, the first in "));
  EXPECT_THAT(log.text(), HasSubstr("a.tsv:3\n  hint: if a program quoted them"));
  EXPECT_THAT(
      refusal(write("b.tsv", "text\tlabel\n\"two\nlines\"\t3\n")),
      HasSubstr("b.tsv:2: 1 columns, but the first line has 2\n  hint: in the format tsv quotes "
                "are ordinary characters; use format tsv-quoted if fields are quoted"));
  EXPECT_THAT(refusal(write("c.tsv", "\"text\"\t\"label\"\nx\t1\n")),
              HasSubstr("c.tsv:1: no column 'text'\n  hint: the column names are in quotes: read "
                        "the file with format tsv-quoted"));
}

TEST_F(Rows, CsvRowsHaveASizeLimit) {
  std::string lines;
  for (int i = 0; i < 33; ++i) lines += std::string(1 << 20, 'x') + "\n";
  EXPECT_THAT(
      refusal(write("a.csv", str("text,label\n\"", lines, lines))),
      HasSubstr("a.csv:2: a row of more than 64 MiB\n  hint: check whether a quote is not closed"));
  EXPECT_THAT(refusal(write("b.csv", str("text,label\n\"", lines, "\",\"", lines, "\"\n"))),
              HasSubstr("b.csv:2: a row of more than 64 MiB"));
  std::string cells;
  for (int i = 0; i < 70000; ++i) cells += "\"\n\",";
  EXPECT_THAT(refusal(write("c.csv", str("text,label\n", cells))),
              HasSubstr("c.csv:2: more columns than the 2 of the first line"));
  EXPECT_THAT(refusal(write("d.csv", cells)), HasSubstr("d.csv:1: more than 65536 columns"));
}

TEST_F(Rows, ReportMissingAndInvalidFields) {
  EXPECT_THAT(refusal(write("a.jsonl", "{\"text\": \"a\"}\n")),
              HasSubstr("a.jsonl:1: no field 'label'"));
  EXPECT_THAT(refusal(write("b.jsonl", "{\"text\": \"a\", \"label\": [1]}\n")),
              HasSubstr("b.jsonl:1: field 'label' is array, not a string or a number"));
  EXPECT_THAT(refusal(write("a.tsv", "text\nx\n")), HasSubstr("a.tsv:1: no column 'label'"));
  EXPECT_THAT(
      refusal(write("n.tsv",
                    "A first row of some length, and not the names of columns at "
                    "all\tnews\n")),
      HasSubstr("n.tsv:1: no column 'text'\n  hint: its first line has the columns A first "
                "row of some length, and not the names of columns at…; name one of them, or "
                "for a file without names set header none and give columns by number"));
  EXPECT_THAT(
      refusal(write("b.tsv", "text\tlabel\nx\n")),
      HasSubstr(
          "b.tsv:2: 1 columns, but the first line has 2\n  hint: use the same number of tabs"));
  EXPECT_THAT(refusal(write("a.txt", "x\n")), HasSubstr("a.txt: plain text has no field 'text'"));
  const auto of = [&](const std::shared_ptr<arrow::Array>& labels) {
    return refusal(
        write_parquet("a.parquet", table_of({{"text", texts({"a"})}, {"label", labels}})));
  };
  EXPECT_THAT(of(column<arrow::BinaryBuilder, std::string>({"\xff"})),
              HasSubstr("a.parquet: column 'label' is BYTE_ARRAY, not text or numbers"));
  EXPECT_THAT(of(column<arrow::Date32Builder, std::int32_t>({7})),
              HasSubstr("a.parquet: column 'label' is Date, not text or numbers"));
  const auto list = arrow::ListArray::FromArrays(*column<arrow::Int32Builder, std::int32_t>({0, 1}),
                                                 *texts({"a"}));
  EXPECT_THAT(refusal(write_parquet("l.parquet", table_of({{"l", list.ValueOrDie()}})),
                      {{.name = "l.list.element"}}),
              HasSubstr("column 'l.list.element' is a list, not text"));
  EXPECT_THAT(refusal(write("t.csv", "id\ttext\n1\ta\n")),
              HasSubstr("t.csv:1: no column 'text'\n  hint: its columns are separated by tabs: set "
                        "the format to tsv"));
}

// 64 MiB in one row group, in pages of 4: reading holds some pages, not the column.
TEST_F(Rows, ParquetIsReadInMemoryBoundedByPages) {
  std::vector<std::optional<std::string>> many(16384, std::string(4096, 'x'));
  const std::string path =
      write_parquet("a.parquet", table_of({{"text", texts(many)}}), std::ssize(many));
  many.clear();
  const std::int64_t before = arrow::default_memory_pool()->bytes_allocated();
  const auto rows = open_rows(path, FileFormat::parquet, {{.name = "text"}}, {});
  std::int64_t most = 0, count = 0;
  for (Row row; rows->next(row); ++count)
    most = std::max(most, arrow::default_memory_pool()->bytes_allocated() - before);
  EXPECT_EQ(count, 16384);
  EXPECT_LT(most, 20 << 20);
}

TEST_F(Rows, ParquetCellsHaveASizeLimit) {
  std::vector<std::optional<std::string>> cells(3, "x");
  cells[1] = std::string((64 << 20) + 1, 'x');
  const std::string path = write_parquet("a.parquet", table_of({{"text", texts(cells)}}));
  EXPECT_THAT(refusal(path, {{.name = "text"}}),
              HasSubstr("a.parquet:2: a cell of more than 64 MiB\n  hint: split the text"));
}

TEST_F(Rows, ParquetReadErrorsAreNotReportedAsDamage) {
  EXPECT_THAT(refusal(dir_.file("none.parquet")), HasSubstr("none.parquet: No such file"));
  const io::ArrowFile failing("/proc/self/mem");
  EXPECT_FALSE(failing.get()->ReadAt(0, 8).ok());
  EXPECT_THAT(error_of<SystemError>([&] { failing.check(); }),
              HasSubstr("read: /proc/self/mem: Input/output error"));
}

// The same rules apply in every format: unreadable rows are reported and skipped.
TEST_F(Rows, AreSkippedIfBadInEveryFormat) {
  const auto wanted = ElementsAre(Row{"One.", "1"}, Row{"Four.", "4"});
  const auto labels = column<arrow::Int32Builder, std::int32_t>({1, {}, 3, 4});
  const std::vector<std::string> paths{
      write("a.jsonl",
            "{\"text\": \"One.\", \"label\": 1}\n{\"text\": \"x\", \"label\": null}\n"
            "{\"text\": null, \"label\": 3}\n{\"text\": \"Four.\", \"label\": 4}\n"),
      write("a.tsv", "text\tlabel\nOne.\t1\nx\n\ty\t3\nFour.\t4\n"),
      write("a.csv", "text,label\nOne.,1\nx\n\"y\"z,3\nFour.,4\n"),
      write_parquet("a.parquet",
                    table_of({{"text", texts({"One.", "x", {}, "Four."})}, {"label", labels}}))};
  for (const std::string& path : paths) {
    faults_ = TextFaults();
    EXPECT_THAT(read(path), wanted) << path;
    EXPECT_EQ(faults_.bad_rows(), 2u) << path;
  }
}

TEST_F(Rows, IgnoreFieldsThatAreNotRequested) {
  const std::vector<Field> text{{.name = "text"}};
  faults_ = TextFaults({.strict = true});
  EXPECT_THAT(
      read(write(
               "a.jsonl",
               "{\"score\": NaN, \"text\": \"One.\"}\n"
               "{\"text\": \"Two.\", \"size\": 1e999, \"more\": {\"a\": [\"]\\\"}\", -Infinity]}}\n"
               "{\"latin1\": \"\xe9\", \"half\": \"\\ud800\", \"te\\u0078t\": \"Three.\"}\n"),
           text),
      ElementsAre(Row{"One."}, Row{"Two."}, Row{"Three."}));
  EXPECT_THAT(read(write("a.csv", "x,text\n\xe9,One.\n"), text), ElementsAre(Row{"One."}));
  EXPECT_THAT(read(write("a.tsv", "x\ttext\n\xe9\tOne.\n"), text), ElementsAre(Row{"One."}));
}

TEST_F(Rows, JsonlRowsMustBeValidObjects) {
  for (const char* bad : {"[1]", "{\"text\": \"a\"", "{\"text\": \"a\"}}", "{\"text\" \"a\"}",
                          "{\"text\": \"a\", \"b\": [}]}", "{\"text\": \"a\\\"}", "{text: \"a\"}"})
    EXPECT_THAT(refusal(write("a.jsonl", str(bad, "\n"))),
                HasSubstr("a.jsonl:1: not a JSON object"))
        << bad;
  EXPECT_THAT(refusal(write("a.jsonl", "{\"text\": \"a\tb\"}\n")),
              HasSubstr("a.jsonl:1: field 'text' is not a valid JSON string"));
  EXPECT_THAT(refusal(write("a.jsonl", "{\"text\": \"a\", \"label\": NaN}\n")),
              HasSubstr("a.jsonl:1: field 'label' is invalid JSON, not a string or a number"));
  EXPECT_THAT(refusal(write("a.jsonl", "{\"text\": \"a\", \"label\": 1e999}\n")),
              HasSubstr("a.jsonl:1: field 'label' is a number out of range: 1e999"));
}

TEST_F(Rows, WordsAreReadFromArraysAndConllSentences) {
  const std::vector<Field> words{{.name = "tokens", .is_words = true},
                                 {.name = "tags", .is_text = false, .is_words = true}};
  EXPECT_THAT(read(write("a.jsonl",
                         "{\"tokens\": [\"New York\", \"is\"], \"tags\": [\"B-LOC\", \"O\"]}\n"
                         "{\"tokens\": \"a b\", \"tags\": \"O O\"}\n"),
                   words),
              ElementsAre(Row{"New\u00a0York is", "B-LOC O"}, Row{"a b", "O O"}));
  EXPECT_THAT(
      refusal(write("b.jsonl", "{\"tokens\": [\"a\", 3], \"tags\": [\"O\", \"O\"]}\n"), words),
      HasSubstr("b.jsonl:1: field 'tokens' holds 3 in its array of words"));
  const std::string conll =
      write("a.conll",
            "\n-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\n# text = x\n"
            "no\tDT\tO\r\n#\tNN\tB-X");
  EXPECT_THAT(read(conll, words), ElementsAre(Row{"EU rejects", "B-ORG O"}, Row{"no #", "O B-X"}));
  EXPECT_THAT(read(conll, {{.name = "text"}, {.name = "2"}}),
              ElementsAre(Row{"EU rejects", "NNP VBZ"}, Row{"no #", "DT NN"}));
  // "#" is a word if its line has the columns of the others.
  const std::string hashes =
      write("hash.conll", "# O\nEricsson B-ORG\n\n# id 7 domain=en\n# O\n# B-X\na O\n\n# B-X\n");
  EXPECT_THAT(read(hashes, words),
              ElementsAre(Row{"# Ericsson", "O B-ORG"}, Row{"# # a", "O B-X O"}, Row{"#", "B-X"}));
  EXPECT_THAT(read(write("u.conll", "# id = 3\n1\ta\tX\n\n# x y\n1\tb\tY\n"),
                   {{.name = "2"}, {.name = "3"}}),
              ElementsAre(Row{"a", "X"}, Row{"b", "Y"}));
  // Its label is one of BIO, or that of another word.
  EXPECT_THAT(read(write("doc.conll", "# newdoc\nJohn B-PER\n\n# newdoc\n# O\nx O\n"), words),
              ElementsAre(Row{"John", "B-PER"}, Row{"# x", "O O"}));
  EXPECT_THAT(
      read(write("pos.conll", "# newpar\na DET\n# SYM\n\n# SYM\n\n# 1\n# NUM\n1 NUM\n"), words),
      ElementsAre(Row{"a #", "DET SYM"}, Row{"#", "SYM"}, Row{"# 1", "NUM NUM"}));
  const std::string bad = write("bad.bio", "a O\nb\nc O\n\nd O\n");
  faults_ = TextFaults();
  EXPECT_THAT(read(bad, words), ElementsAre(Row{"d", "O"}));
  EXPECT_THAT(refusal(bad, words),
              HasSubstr("bad.bio:2: 'b' has 1 column\n  hint: write a word and its label"));
}

TEST_F(Rows, RejectTheNumberColumnOfConllAsWords) {
  const std::string numbered = write("n.conll",
                                     "1\tHe\tPRON\n2\tis\tAUX\n\n1-2\tcan't\t_\n1\tca\tAUX\n"
                                     "2\tn't\tPART\n2.1\tgo\tVERB\n3\tgo\tVERB\n");
  EXPECT_THAT(
      refusal(numbered, {{.name = "text"}, {.name = "label"}}),
      HasSubstr("n.conll:8: column 1 contains word numbers (1, 2, 3), not words\n  hint: select "
                "the column of the words with --field 2, or data.text: 2 in a recipe"));
  EXPECT_THAT(read(numbered, {{.name = "2"}, {.name = "3"}}),
              ElementsAre(Row{"He is", "PRON AUX"}, Row{"ca n't go", "AUX PART VERB"}));
  const std::string counts = write("c.conll", "1 O\n2 O\n3 O\n\n1 CD O\n3 CD O\n3 CD O\n");
  EXPECT_THAT(read(counts, {{.name = "text"}, {.name = "label"}}),
              ElementsAre(Row{"1 2 3", "O O O"}, Row{"1 3 3", "O O O"}));
}

TEST_F(Rows, LabelsOfWordsMayBeNumbers) {
  EXPECT_THAT(read(write("ids.jsonl", "{\"tokens\": [\"EU\", \"is\"], \"ner_tags\": [3, 0]}\n"),
                   {{.name = "tokens", .is_words = true},
                    {.name = "ner_tags", .is_text = false, .is_words = true}}),
              ElementsAre(Row{"EU is", "3 0"}));
}

}  // namespace
}  // namespace smelt::text
