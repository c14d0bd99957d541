#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>

#include "base/error.h"
#include "base/nearest_name.h"
#include "store/arrow_file.h"
#include "text/rows.h"

namespace smelt {
namespace {

constexpr std::int64_t kBatchRows = 1024;

class ParquetRows : public RowReader {
 public:
  ParquetRows(std::string path, const std::string& field, Utf8Filter& utf8)
      : path_(std::move(path)), utf8_(utf8) {
    auto file = take(open_arrow_file(path_));
    parquet::ReaderProperties properties;
    properties.enable_buffered_stream();
    parquet::ArrowReaderProperties batches;
    batches.set_batch_size(kBatchRows);
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(file, properties));
    reader_ = take(builder.properties(batches)->Build());
    std::vector<int> row_groups;
    for (int i = 0; i < reader_->num_row_groups(); ++i) row_groups.push_back(i);
    batches_ = take(reader_->GetRecordBatchReader(row_groups, {column(field)}));
  }

  bool next(std::string& text) override {
    for (;; ++at_) {
      if (!batch_ || at_ == batch_->num_rows()) {
        check(batches_->ReadNext(&batch_));
        if (!batch_) return false;
        at_ = -1;
        continue;
      }
      ++row_;
      const auto& values = *batch_->column(0);
      if (values.IsNull(at_)) continue;
      text = values.type_id() == arrow::Type::STRING
                 ? static_cast<const arrow::StringArray&>(values).GetView(at_)
                 : static_cast<const arrow::LargeStringArray&>(values).GetView(at_);
      utf8_.apply(text, path_, row_);
      ++at_;
      return true;
    }
  }

 private:
  int column(const std::string& field) const {
    std::shared_ptr<arrow::Schema> schema;
    check(reader_->GetSchema(&schema));
    const int index = schema->GetFieldIndex(field);
    if (index < 0)
      throw UsageError(str(path_, ": no column '", field, "'"),
                       did_you_mean(field, schema->field_names()));
    const auto& type = *schema->field(index)->type();
    if (type.id() != arrow::Type::STRING && type.id() != arrow::Type::LARGE_STRING)
      throw UsageError(str(path_, ": column '", field, "' is ", type.ToString(), ", not text"),
                       "name the column that holds the text with --field");
    // Columns are counted by leaves; those before a text column may be nested.
    const auto& leaves = *reader_->parquet_reader()->metadata()->schema();
    for (int leaf = 0; leaf < leaves.num_columns(); ++leaf)
      if (leaves.GetColumnRoot(leaf)->name() == field) return leaf;
    return index;
  }

  void check(const arrow::Status& status) const {
    if (status.ok()) return;
    throw UsageError(str(path_, ": not a whole Parquet file: ", status.message()),
                     "copy or make the file again");
  }
  template <class T>
  T take(arrow::Result<T> result) const {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }

  std::string path_;
  Utf8Filter& utf8_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::int64_t at_ = 0, row_ = 0;
};

}  // namespace

std::unique_ptr<RowReader> open_parquet(const std::string& path, const std::string& field,
                                        Utf8Filter& utf8) {
  return std::make_unique<ParquetRows>(path, field, utf8);
}

}  // namespace smelt
