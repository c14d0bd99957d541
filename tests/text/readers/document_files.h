// Helpers that write text files and read the documents in them.
#pragma once

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "text/readers/documents.h"

namespace smelt::text {

using Sentences = std::vector<std::string>;

inline std::string compressed(const std::string& text, arrow::Compression::type type) {
  const auto codec = arrow::util::Codec::Create(type).ValueOrDie();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto size = static_cast<std::int64_t>(text.size());
  std::string out(static_cast<std::size_t>(codec->MaxCompressedLen(size, bytes)), '\0');
  const auto length =
      codec->Compress(size, bytes, std::ssize(out), reinterpret_cast<std::uint8_t*>(out.data()));
  out.resize(static_cast<std::size_t>(length.ValueOrDie()));
  return out;
}
inline std::string gzip(const std::string& text) {
  return compressed(text, arrow::Compression::GZIP);
}
inline std::string zstd(const std::string& text) {
  return compressed(text, arrow::Compression::ZSTD);
}

// Compresses with bzip2; the library offers only a streaming compressor.
inline std::string bzip2(const std::string& text) {
  const auto codec = arrow::util::Codec::Create(arrow::Compression::BZ2).ValueOrDie();
  const auto compressor = codec->MakeCompressor().ValueOrDie();
  std::string out(text.size() + 1000, '\0');
  auto* to = reinterpret_cast<std::uint8_t*>(out.data());
  const auto done =
      compressor
          ->Compress(std::ssize(text), reinterpret_cast<const std::uint8_t*>(text.data()),
                     std::ssize(out), to)
          .ValueOrDie();
  EXPECT_EQ(done.bytes_read, std::ssize(text));
  const auto end =
      compressor->End(std::ssize(out) - done.bytes_written, to + done.bytes_written).ValueOrDie();
  out.resize(static_cast<std::size_t>(done.bytes_written + end.bytes_written));
  return out;
}

class DocumentFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    io::write_file(dir_.file(name), bytes);
    return dir_.file(name);
  }
  // Rows of an integer column "n" and a text column "body"; the third row is null.
  std::string write_parquet(const std::string& name, const Sentences& rows) {
    arrow::Int64Builder numbers;
    arrow::StringBuilder texts;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_TRUE(numbers.Append(static_cast<std::int64_t>(i)).ok());
      EXPECT_TRUE((i == 2 ? texts.AppendNull() : texts.Append(rows[i])).ok());
    }
    const auto schema =
        arrow::schema({arrow::field("n", arrow::int64()), arrow::field("body", arrow::utf8())});
    const auto table =
        arrow::Table::Make(schema, {numbers.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
    const auto out = arrow::io::FileOutputStream::Open(dir_.file(name)).ValueOrDie();
    EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 2).ok());
    EXPECT_TRUE(out->Close().ok());
    return dir_.file(name);
  }

  static std::vector<Sentences> read(const DocumentOptions& options,
                                     DocumentCounts* counts = nullptr) {
    DocumentReader reader(options);
    std::vector<Sentences> out;
    for (Document document; reader.next(document);) {
      out.emplace_back();
      for (std::size_t i = 0; i < document.size(); ++i)
        out.back().emplace_back(document.sentence(i));
    }
    if (counts != nullptr) *counts = reader.counts();
    return out;
  }
  static DocumentOptions from(const std::string& input) {
    DocumentOptions options;
    options.input = input;
    return options;
  }
  static std::string refusal(const DocumentOptions& options) {
    return error_of<UsageError>([&] { read(options); });
  }

  CapturedLog log_;
  TempDir dir_;
};

}  // namespace smelt::text
