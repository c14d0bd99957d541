#include <arrow/array/array_binary.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_binary.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include "base/error.h"
#include "cli/commands/vector_output.h"
#include "io/filesystem/file.h"

namespace smelt::cli {
namespace {

// Throws SystemError if a call of Arrow has failed.
void check(const arrow::Status& status, const std::string& path) {
  if (!status.ok()) throw SystemError(str("embed: cannot write ", path, ": ", status.message()));
}

// An Arrow output stream that writes to an OutputFile. Exceptions of the file pass through Arrow.
// Close() does not commit the file.
class OutputFileStream final : public arrow::io::OutputStream {
 public:
  explicit OutputFileStream(io::OutputFile& file) : file_(file) {
    set_mode(arrow::io::FileMode::WRITE);
  }
  ~OutputFileStream() override = default;
  using arrow::io::OutputStream::Write;
  arrow::Status Write(const void* data, std::int64_t bytes) override {
    file_.write({static_cast<const char*>(data), static_cast<std::size_t>(bytes)});
    at_ += bytes;
    return arrow::Status::OK();
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return at_; }
  bool closed() const override { return closed_; }

 private:
  io::OutputFile& file_;
  std::int64_t at_ = 0;
  bool closed_ = false;
};

// A Parquet file with the columns text and embedding, a fixed-size list of floats. Each add()
// becomes one row group.
class ParquetOutput final : public VectorOutput {
 public:
  explicit ParquetOutput(const std::string& path)
      : file_(path), stream_(std::make_shared<OutputFileStream>(file_)) {}

  void add(std::span<const std::string> texts, const execution::EmbeddingRows& rows) override {
    if (!writer_) open(static_cast<std::int32_t>(rows.width));
    arrow::StringBuilder text_column;
    for (const std::string& text : texts) check(text_column.Append(text), file_.path());
    const auto numbers = std::make_shared<arrow::FloatArray>(
        static_cast<std::int64_t>(rows.values.size()), arrow::Buffer::Wrap(rows.values));
    const auto count = static_cast<std::int64_t>(rows.size());
    const auto vectors =
        std::make_shared<arrow::FixedSizeListArray>(schema_->field(1)->type(), count, numbers);
    const auto names = text_column.Finish();
    check(names.status(), file_.path());
    const auto table = arrow::Table::Make(
        schema_, std::vector<std::shared_ptr<arrow::Array>>{*names, vectors}, count);
    check(writer_->WriteTable(*table, std::max<std::int64_t>(count, 1)), file_.path());
  }

  void commit() override {
    if (!writer_) open(0);
    check(writer_->Close(), file_.path());
    file_.commit();
  }

 private:
  void open(std::int32_t width) {
    schema_ =
        arrow::schema({arrow::field("text", arrow::utf8(), false),
                       arrow::field("embedding",
                                    arrow::fixed_size_list(
                                        arrow::field("element", arrow::float32(), false), width),
                                    false)});
    // Parquet has no lists of fixed size. Arrow's readers take the size from the stored schema.
    auto opened = parquet::arrow::FileWriter::Open(
        *schema_, arrow::default_memory_pool(), stream_,
        parquet::WriterProperties::Builder().disable_dictionary("embedding.list.element")->build(),
        parquet::ArrowWriterProperties::Builder().store_schema()->build());
    check(opened.status(), file_.path());
    writer_ = std::move(*opened);
  }

  io::OutputFile file_;
  std::shared_ptr<OutputFileStream> stream_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

}  // namespace

std::unique_ptr<VectorOutput> open_parquet_output(const std::string& path) {
  return std::make_unique<ParquetOutput>(path);
}

}  // namespace smelt::cli
