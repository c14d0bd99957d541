#include "text/readers/parquet_rows.h"

#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <type_traits>

#include "base/error.h"
#include "base/json.h"
#include "base/nearest_name.h"
#include "io/filesystem/arrow_file.h"

namespace smelt::text {
namespace {

constexpr std::int64_t kBatchRows = 256;
constexpr std::int64_t kColumnBufferBytes =
    4 << 20;  // bytes of a column per request to the object store

// Reads one column of a row group, value by value. String values point into the current page.
class Column {
 public:
  virtual ~Column() = default;
  enum class Value { some, null, too_large, missing };
  virtual Value next(std::string& value) = 0;
};

template <class Number>
void assign_number(Number number, std::string& value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  value.assign(text.data(), end);
}

// Formats a number as JSON and Python do (1.0, not 1), so that a column has the same text in every
// format.
template <std::floating_point Number>
void assign_real(Number number, std::string& value) {
  assign_number(number, value);
  if (!std::isfinite(number)) return;
  double shortest = 0;  // the double with the float's shortest digits: 0.1, not 0.100000001
  std::from_chars(value.data(), value.data() + value.size(), shortest);
  value = Json(shortest).dump();
}

template <class DType>
class TypedColumn : public Column {
 public:
  explicit TypedColumn(std::shared_ptr<parquet::ColumnReader> reader)
      : reader_(std::static_pointer_cast<parquet::TypedColumnReader<DType>>(std::move(reader))),
        whole_(reader_->descr()->max_definition_level()),
        is_unsigned_(is_unsigned(*reader_->descr())) {}

  Value next(std::string& value) override {
    if (at_ == rows_) {
      std::int64_t values = 0;
      at_ = next_value_ = 0;
      rows_ = reader_->HasNext()
                  ? reader_->ReadBatch(kBatchRows, levels_.data(), nullptr, values_.data(), &values)
                  : 0;
      if (rows_ == 0) return Value::missing;
    }
    if (levels_[static_cast<std::size_t>(at_++)] < whole_) return Value::null;
    return take(values_[next_value_++], value);
  }

 private:
  static bool is_unsigned(const parquet::ColumnDescriptor& column) {
    const auto* integer = dynamic_cast<const parquet::IntLogicalType*>(column.logical_type().get());
    return integer != nullptr && !integer->is_signed();
  }

  Value take(const typename DType::c_type& from, std::string& value) const {
    if constexpr (std::is_same_v<DType, parquet::ByteArrayType>) {
      if (from.len > kMaxCellBytes) return Value::too_large;
      value.assign(reinterpret_cast<const char*>(from.ptr), from.len);
    } else if constexpr (std::is_same_v<DType, parquet::BooleanType>) {
      value = from ? "true" : "false";
    } else if constexpr (std::is_integral_v<typename DType::c_type>) {
      if (is_unsigned_)
        assign_number(static_cast<std::make_unsigned_t<typename DType::c_type>>(from), value);
      else
        assign_number(from, value);
    } else {
      if (std::isnan(from)) return Value::null;
      assign_real(from, value);
    }
    return Value::some;
  }

  std::shared_ptr<parquet::TypedColumnReader<DType>> reader_;
  std::int16_t whole_;  // definition level of a value that is not null
  bool is_unsigned_;
  std::array<std::int16_t, kBatchRows> levels_{};
  std::array<typename DType::c_type, kBatchRows> values_{};
  std::int64_t at_ = 0, rows_ = 0;
  std::size_t next_value_ = 0;
};

std::unique_ptr<Column> open_column(std::shared_ptr<parquet::ColumnReader> reader) {
  switch (reader->type()) {
    case parquet::Type::BOOLEAN:
      return std::make_unique<TypedColumn<parquet::BooleanType>>(std::move(reader));
    case parquet::Type::INT32:
      return std::make_unique<TypedColumn<parquet::Int32Type>>(std::move(reader));
    case parquet::Type::INT64:
      return std::make_unique<TypedColumn<parquet::Int64Type>>(std::move(reader));
    case parquet::Type::FLOAT:
      return std::make_unique<TypedColumn<parquet::FloatType>>(std::move(reader));
    case parquet::Type::DOUBLE:
      return std::make_unique<TypedColumn<parquet::DoubleType>>(std::move(reader));
    default:
      return std::make_unique<TypedColumn<parquet::ByteArrayType>>(std::move(reader));
  }
}

bool holds_text(const parquet::ColumnDescriptor& column) {
  const parquet::LogicalType& meaning = *column.logical_type();
  return column.physical_type() == parquet::Type::BYTE_ARRAY &&
         (meaning.is_string() || meaning.is_enum() || meaning.is_JSON());
}

bool holds_numbers(const parquet::ColumnDescriptor& column) {
  const parquet::LogicalType& meaning = *column.logical_type();
  switch (column.physical_type()) {
    case parquet::Type::BOOLEAN:
    case parquet::Type::FLOAT:
    case parquet::Type::DOUBLE:
      return true;
    case parquet::Type::INT32:
    case parquet::Type::INT64:
      return meaning.is_none() || meaning.is_int();
    default:
      return false;
  }
}

std::string type_name(const parquet::ColumnDescriptor& column) {
  const parquet::LogicalType& meaning = *column.logical_type();
  if (column.max_repetition_level() > 0) return "a list";
  return meaning.is_none() ? parquet::TypeToString(column.physical_type()) : meaning.ToString();
}

class ParquetRows : public RowReader {
 public:
  ParquetRows(std::string path, const std::vector<Field>& fields, FaultSink faults)
      : path_(std::move(path)), file_(path_), faults_(std::move(faults)) {
    guarded([&] {
      PARQUET_ASSIGN_OR_THROW(const std::int64_t bytes, file_.get()->GetSize());
      bytes_ = static_cast<std::uint64_t>(bytes);
      // Buffered reading; the default reads a whole column chunk at once.
      parquet::ReaderProperties properties;
      properties.enable_buffered_stream();
      properties.set_buffer_size(kColumnBufferBytes);
      reader_ = parquet::ParquetFileReader::Open(file_.get(), properties);
      for (const Field& field : fields) indices_.push_back(index_of(field));
    });
  }

  bool next(std::vector<std::string>& values) override {
    values.resize(indices_.size());
    for (;;) {
      while (left_ == 0) {
        if (group_ == reader_->metadata()->num_row_groups()) return false;
        guarded([&] { open_group(group_++); });
      }
      --left_;
      ++row_;
      if (guarded([&] { return read_row(values); })) break;
    }
    for (std::string& value : values) clean_text(value, row_, faults_);
    return true;
  }

  std::int64_t line() const override { return row_; }

  std::uint64_t bytes_read() const override {
    const auto rows = reader_->metadata()->num_rows();
    return rows == 0
               ? bytes_
               : static_cast<std::uint64_t>(static_cast<double>(bytes_) *
                                            static_cast<double>(row_) / static_cast<double>(rows));
  }

 private:
  [[noreturn]] void throw_damaged(std::string_view what) const {
    throw UsageError(str(path_, ": damaged or truncated Parquet file: ", what),
                     "copy or make the file again");
  }

  template <class Action>
  std::invoke_result_t<Action> guarded(Action&& action) const try {
    return action();
  } catch (const parquet::ParquetException& error) {
    file_.check();
    throw_damaged(error.what());
  }

  int index_of(const Field& field) const {
    const parquet::SchemaDescriptor& schema = *reader_->metadata()->schema();
    const int index = schema.ColumnIndex(field.name);
    if (index < 0) {
      std::vector<std::string> names;
      for (int i = 0; i < schema.num_columns(); ++i)
        names.push_back(schema.Column(i)->path()->ToDotString());
      throw UsageError(str(path_, ": no column '", field.name, "'"),
                       did_you_mean(field.name, names));
    }
    const parquet::ColumnDescriptor& column = *schema.Column(index);
    const bool fits = holds_text(column) || (!field.is_text && holds_numbers(column));
    if (!fits || column.max_repetition_level() > 0)
      throw UsageError(str(path_, ": column '", field.name, "' is ", type_name(column),
                           field.is_text ? ", not text" : ", not text or numbers"),
                       "select another column, e.g. with --field");
    return index;
  }

  void open_group(int number) {
    columns_.clear();
    const auto group = reader_->RowGroup(number);
    left_ = group->metadata()->num_rows();
    for (const int index : indices_) columns_.push_back(open_column(group->Column(index)));
  }

  // Returns false for a bad row; the row is skipped in all columns.
  bool read_row(std::vector<std::string>& values) {
    TextFault fault{.line = row_};
    for (std::size_t i = 0; i < columns_.size(); ++i) switch (columns_[i]->next(values[i])) {
        case Column::Value::some:
          break;
        case Column::Value::null:
          fault.what = str("column '", name_of(i), "' is null or NaN");
          fault.hint = "select another column, e.g. with --field";
          break;
        case Column::Value::too_large:
          fault.what = str("a cell of more than ", kMaxCellBytes >> 20, " MiB");
          fault.hint = "split the text of this row into several rows";
          break;
        case Column::Value::missing:
          throw_damaged(str("a column has only ", row_ - 1, " rows"));
      }
    if (fault.what.empty()) return true;
    faults_(std::move(fault));
    return false;
  }
  std::string name_of(std::size_t wanted) const {
    return reader_->metadata()->schema()->Column(indices_[wanted])->path()->ToDotString();
  }

  std::string path_;
  io::ArrowFile file_;
  FaultSink faults_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<parquet::ParquetFileReader> reader_;
  std::vector<int> indices_;
  std::vector<std::unique_ptr<Column>> columns_;  // columns of row group group_ - 1
  int group_ = 0;
  std::int64_t left_ = 0, row_ = 0;  // left_: rows left in that group
};

}  // namespace

std::unique_ptr<RowReader> open_parquet(const std::string& path, const std::vector<Field>& fields,
                                        FaultSink faults) {
  return std::make_unique<ParquetRows>(path, fields, std::move(faults));
}

}  // namespace smelt::text
