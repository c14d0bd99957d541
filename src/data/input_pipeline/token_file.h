// The tokens of a token store or snapshot folder as an array.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/filesystem/random_access_file.h"
#include "io/formats/token_store.h"

namespace smelt::data {

class TokenFile {
 public:
  virtual ~TokenFile() = default;

  std::uint64_t size() const { return size_; }  // number of tokens
  // number of documents whose ends are known
  std::uint64_t documents() const { return documents_; }
  std::uint32_t id_limit() const { return id_limit_; }  // all ids are less than this; 0: not known
  const io::TokenVocabulary& vocabulary() const { return vocabulary_; }
  const std::vector<std::string>& parts() const { return parts_; }

  // Returns an open part of the file. It may return the same object again for the same part.
  using Open = std::function<std::shared_ptr<const io::RandomAccessFile>(std::size_t part)>;
  // Reads the tokens from `first` on and verifies all checksums. Thread-safe. Throws UsageError
  // with the file and offset.
  virtual void read(const Open& open, std::uint64_t first, std::span<std::int32_t> out) const = 0;
  // Returns the number of tokens before the end of each of the documents().
  virtual std::vector<std::uint64_t> document_ends(const Open&) const { return {}; }

 protected:
  std::uint64_t size_ = 0, documents_ = 0;
  std::uint32_t id_limit_ = 0;
  io::TokenVocabulary vocabulary_;
  std::vector<std::string> parts_;  // files that read() opens
};

// A memory budget in bytes for tokens that must be decoded into memory.
class TokenMemory {
 public:
  explicit TokenMemory(std::uint64_t bytes) : left_(static_cast<std::int64_t>(bytes)) {}
  // Subtracts `bytes` from the budget. Returns false if less was left.
  bool take(std::uint64_t bytes) { return (left_ -= static_cast<std::int64_t>(bytes)) >= 0; }

 private:
  std::atomic<std::int64_t> left_;
};

// Opens a token store or a snapshot. An uncompressed snapshot of scalars has records of equal
// length and is read in place. Any other snapshot is decoded into `memory`, with 2 bytes per token
// if possible and 4 otherwise. Throws UsageError if that is not enough.
std::unique_ptr<TokenFile> open_token_file(const std::string& path, TokenMemory& memory);

// Read the layout of a store, and the ends of the documents [first, first + out.size()).
io::TokenStoreLayout read_token_store(const io::RandomAccessFile& file);
void read_document_ends(const io::RandomAccessFile& file, const io::TokenStoreLayout& layout,
                        std::uint64_t first, std::span<std::uint64_t> out);

}  // namespace smelt::data
