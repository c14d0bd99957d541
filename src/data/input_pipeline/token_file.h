// The tokens of one file as an array: of a token store, or of a snapshot folder.
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

namespace smelt {

class TokenFile {
 public:
  virtual ~TokenFile() = default;

  std::uint64_t size() const { return size_; }            // tokens
  std::uint64_t documents() const { return documents_; }  // whose ends are known
  std::uint32_t id_limit() const { return id_limit_; }    // all ids are below it; 0: not known
  const TokenVocabulary& vocabulary() const { return vocabulary_; }
  const std::vector<std::string>& parts() const { return parts_; }

  // Opens a part, or gives it again.
  using Open = std::function<std::shared_ptr<const RandomAccessFile>(std::size_t part)>;
  // The tokens from `first` on, all checksums checked. Thread-safe. UsageError naming file and
  // offset.
  virtual void read(const Open& open, std::uint64_t first, std::span<std::int32_t> out) const = 0;
  // How many tokens come before the end of each of its documents().
  virtual std::vector<std::uint64_t> document_ends(const Open&) const { return {}; }

 protected:
  std::uint64_t size_ = 0, documents_ = 0;
  std::uint32_t id_limit_ = 0;
  TokenVocabulary vocabulary_;
  std::vector<std::string> parts_;  // the files that read() opens
};

// Bytes of memory for tokens that cannot be read where they lie.
class TokenMemory {
 public:
  explicit TokenMemory(std::uint64_t bytes) : left_(static_cast<std::int64_t>(bytes)) {}
  // False when so many are not left.
  bool take(std::uint64_t bytes) { return (left_ -= static_cast<std::int64_t>(bytes)) >= 0; }

 private:
  std::atomic<std::int64_t> left_;
};

// A token store, or a snapshot. One of scalars that is not packed has records of one length and is
// read where it lies; any other is unpacked into `memory`, as 2 bytes a token where they suffice,
// else 4. UsageError when that is not enough.
std::unique_ptr<TokenFile> open_token_file(const std::string& path, TokenMemory& memory);

// The layout of a store; the ends of the documents [first, first + out.size()).
TokenStoreLayout read_token_store(const RandomAccessFile& file);
void read_document_ends(const RandomAccessFile& file, const TokenStoreLayout& layout,
                        std::uint64_t first, std::span<std::uint64_t> out);

}  // namespace smelt
