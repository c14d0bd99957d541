#include "text/readers/parquet_rows.h"

#include <arrow/result.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
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
  // Reads the elements of the next row's list; none if the list is empty or null. Returns `null` if
  // an element is null.
  virtual Value next_list(std::vector<std::string>& elements) = 0;
};

// Returns the smallest definition level at which the list of a column has an element.
std::int16_t list_level(const parquet::ColumnDescriptor& column) {
  std::vector<const parquet::schema::Node*> path;
  for (const auto* node = column.schema_node().get(); node->parent() != nullptr;
       node = node->parent())
    path.push_back(node);
  std::int16_t level = 0;
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    if (!(*node)->is_required()) ++level;
    if ((*node)->is_repeated()) break;
  }
  return level;
}

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
        list_level_(list_level(*reader_->descr())),
        is_unsigned_(is_unsigned(*reader_->descr())) {}

  Value next(std::string& value) override {
    if (at_ == rows_ && !read_batch()) return Value::missing;
    if (levels_[static_cast<std::size_t>(at_++)] < whole_) return Value::null;
    return take(values_[next_value_++], value);
  }

  Value next_list(std::vector<std::string>& elements) override {
    elements.clear();
    Value out = Value::some;
    for (bool is_first = true;; is_first = false) {
      if (at_ == rows_ && !read_batch()) return is_first ? Value::missing : out;
      const auto i = static_cast<std::size_t>(at_);
      if (!is_first && repetitions_[i] == 0) return out;  // the next row begins here
      ++at_;
      if (levels_[i] < list_level_) continue;
      Value read = Value::null;
      std::string element;
      if (levels_[i] == whole_) read = take(values_[next_value_++], element);
      if (read != Value::some) out = read;
      elements.push_back(std::move(element));
    }
  }

 private:
  // Returns false at the end of the row group.
  bool read_batch() {
    std::int64_t values = 0;
    at_ = next_value_ = 0;
    rows_ = reader_->HasNext() ? reader_->ReadBatch(kBatchRows, levels_.data(), repetitions_.data(),
                                                    values_.data(), &values)
                               : 0;
    return rows_ > 0;
  }

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
  std::int16_t list_level_;
  bool is_unsigned_;
  std::array<std::int16_t, kBatchRows> levels_{}, repetitions_{};
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

// Returns the name of a column as a user writes it: its path, or for a list the path without its
// inner parts: "tokens" for "tokens.list.element".
std::string user_name(const parquet::ColumnDescriptor& column) {
  const auto* leaf = column.schema_node().get();
  std::vector<std::string> path = column.path()->ToDotVector();
  const auto* group = leaf->parent();
  if (column.max_repetition_level() == 1 && !leaf->is_repeated() && group->is_repeated())
    path.resize(path.size() - 2);
  return join(path, ".");
}

// Returns the class names that the library `datasets` stores with a list of class numbers, or an
// empty vector.
std::vector<std::string> class_names(const parquet::FileMetaData& file, const std::string& column) {
  const auto& stored = file.key_value_metadata();
  const auto text = stored ? stored->Get("huggingface") : arrow::Result<std::string>(std::string());
  Json node = Json::parse_or_discard(text.ok() ? *text : "");
  for (const std::string& key : {std::string("info"), std::string("features"), column,
                                 std::string("feature"), std::string("names")})
    node = node.is_object() ? node.value(key, Json()) : Json();
  std::vector<std::string> names;
  if (node.is_array())
    for (const Json& name : node.elements())
      names.push_back(name.is_string() ? name.get<std::string>() : "");
  return names;
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
      for (const Field& field : fields) add_column(field);
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

  // Returns the index of the column with this name or path.
  int index_of(const std::string& name) const {
    const parquet::SchemaDescriptor& schema = *reader_->metadata()->schema();
    if (const int index = schema.ColumnIndex(name); index >= 0) return index;
    std::vector<std::string> names;
    for (int i = 0; i < schema.num_columns(); ++i) names.push_back(user_name(*schema.Column(i)));
    if (const auto found = std::ranges::find(names, name); found != names.end())
      return static_cast<int>(found - names.begin());
    throw UsageError(str(path_, ": no column '", name, "'"), did_you_mean(name, names));
  }

  void add_column(const Field& field) {
    const int index = index_of(field.name);
    const parquet::ColumnDescriptor& column = *reader_->metadata()->schema()->Column(index);
    const bool fits = holds_text(column) || (!field.is_text && holds_numbers(column));
    const bool takes_lists = field.is_words || field.is_list;
    if (!fits || column.max_repetition_level() > (takes_lists ? 1 : 0))
      throw UsageError(str(path_, ": column '", field.name, "' is ", type_name(column),
                           field.is_text ? ", not text" : ", not text or numbers"),
                       "select another column, e.g. with --field");
    indices_.push_back(index);
    const bool is_list = column.max_repetition_level() > 0;
    forms_.push_back(!is_list ? Form::value : field.is_words ? Form::words : Form::list);
    classes_.push_back(is_list && !field.is_text
                           ? class_names(*reader_->metadata(), user_name(column))
                           : std::vector<std::string>());
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
    for (std::size_t i = 0; i < columns_.size(); ++i) switch (read_value(i, values[i], fault)) {
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
  // Reads the next value of a column. A list becomes words separated by spaces, or a JSON list.
  Column::Value read_value(std::size_t i, std::string& value, TextFault& fault) {
    if (forms_[i] == Form::value) return columns_[i]->next(value);
    const Column::Value read = columns_[i]->next_list(elements_);
    if (read != Column::Value::some) return read;
    value.clear();
    Json list = Json::array();
    for (std::string& element : elements_) {
      element = named(std::move(element), classes_[i]);
      if (element.empty()) {
        fault.what = str("column '", name_of(i), "' holds an empty string in its list");
        fault.hint = "remove the row, or write a word or label for each element";
      }
      if (forms_[i] == Form::words) append_word(element, value);
      clean_text(element, row_, faults_);
      list.push_back(std::move(element));
    }
    if (forms_[i] == Form::list) value = list.dump();
    return read;
  }

  // Returns the name of a class number; other texts unchanged.
  static std::string named(std::string element, const std::vector<std::string>& classes) {
    std::size_t number = 0;
    const char* end = element.data() + element.size();
    const bool is_number = std::from_chars(element.data(), end, number).ptr == end;
    return is_number && number < classes.size() ? classes[number] : element;
  }

  std::string name_of(std::size_t wanted) const {
    return user_name(*reader_->metadata()->schema()->Column(indices_[wanted]));
  }

  std::string path_;
  io::ArrowFile file_;
  FaultSink faults_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<parquet::ParquetFileReader> reader_;
  enum class Form { value, words, list };
  // For each requested field: its column, the form of its values, and the names of its classes.
  std::vector<int> indices_;
  std::vector<Form> forms_;
  std::vector<std::vector<std::string>> classes_;
  std::vector<std::string> elements_;
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
