#include "cli/commands/vector_output.h"

#include <array>
#include <cerrno>
#include <iostream>
#include <optional>

#include "base/error.h"
#include "base/number_format.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/npy.h"

namespace smelt::cli {
namespace {

// Collects the rows in a temporary file, because the header has their number.
class NpyOutput final : public VectorOutput {
 public:
  explicit NpyOutput(std::string path) : path_(std::move(path)), rows_file_(std::tmpfile()) {
    if (!rows_file_) throw_errno("create", "a temporary file", errno);
  }

  void add(std::span<const std::string>, const execution::EmbeddingRows& rows) override {
    width_ = rows.width;
    count_ += rows.size();
    if (std::fwrite(rows.values.data(), sizeof(float), rows.values.size(), rows_file_.get()) !=
        rows.values.size())
      throw_errno("write", "a temporary file", errno);
  }

  void commit() override {
    // rewind() would hide an error of the last write.
    if (std::fflush(rows_file_.get()) != 0) throw_errno("write", "a temporary file", errno);
    io::OutputFile file(path_);
    file.write(io::npy_header(count_, width_));
    std::rewind(rows_file_.get());
    std::array<char, std::size_t{1} << 16> buffer{};
    for (std::size_t count = 0;
         (count = std::fread(buffer.data(), 1, buffer.size(), rows_file_.get())) > 0;)
      file.write({buffer.data(), count});
    if (std::ferror(rows_file_.get()) != 0) throw_errno("read", "a temporary file", errno);
    file.commit();
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> rows_file_;
  std::size_t width_ = 0, count_ = 0;
};

class JsonOutput final : public VectorOutput {
 public:
  explicit JsonOutput(const std::string& path) {
    if (!path.empty()) file_.emplace(path);
  }

  void add(std::span<const std::string> texts, const execution::EmbeddingRows& rows) override {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      OrderedJson embedding = OrderedJson::array();
      for (const float x : rows.row(i)) embedding.push_back(to_f32_digits(x));
      const OrderedJson line{{"text", texts[i]}, {"embedding", embedding}};
      const std::string text = line.dump(-1, ' ', false, JsonInvalidUtf8::replace) + "\n";
      if (file_)
        file_->write(text);
      else
        std::cout << text;
    }
    if (!file_) std::cout << std::flush;
  }

  void commit() override {
    if (file_) file_->commit();
  }

 private:
  std::optional<io::OutputFile> file_;
};

}  // namespace

std::unique_ptr<VectorOutput> open_vector_output(const std::string& path) {
  if (!path.empty() && io::exists(path))
    throw UsageError(str("embed: --output ", path, " exists"), "name another file, or remove it");
  if (path.ends_with(".npy")) return std::make_unique<NpyOutput>(path);
  if (path.ends_with(".parquet")) return open_parquet_output(path);
  if (path.empty() || path.ends_with(".jsonl")) return std::make_unique<JsonOutput>(path);
  throw UsageError(str("embed: --output ", path, " has an unknown extension"),
                   "use .npy (a float32 matrix), .parquet or .jsonl");
}

}  // namespace smelt::cli
