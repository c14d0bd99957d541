// The tokens of many files as arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/input_pipeline/open_files.h"
#include "data/input_pipeline/token_file.h"

namespace smelt::data {

constexpr std::uint64_t kTokenMemory = std::uint64_t{2} << 30;

// The tokens of several token stores and snapshot folders. Thread-safe.
class TokenFiles {
 public:
  // Opens token stores and snapshot folders. Throws UsageError for other paths, if snapshots need
  // more than `memory` bytes to decode, and if the stores have different vocabularies.
  explicit TokenFiles(std::vector<std::string> paths, std::uint64_t memory = kTokenMemory);

  std::size_t count() const { return files_.size(); }
  const std::vector<std::string>& paths() const { return paths_; }
  std::uint64_t tokens(std::size_t file) const { return files_[file]->size(); }
  std::uint64_t documents(std::size_t file) const { return files_[file]->documents(); }
  std::uint32_t id_limit(std::size_t file) const { return files_[file]->id_limit(); }
  // Returns the vocabulary stored in the first store that has one.
  const io::TokenVocabulary& vocabulary() const { return vocabulary_; }

  // Reads tokens as TokenFile::read does.
  void read(std::size_t file, std::uint64_t first, std::span<std::int32_t> out) const;
  // Returns the ends as TokenFile::document_ends does; empty for a snapshot.
  std::vector<std::uint64_t> document_ends(std::size_t file) const;

 private:
  void check_vocabularies();
  TokenFile::Open opener(std::size_t file) const;

  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<TokenFile>> files_;
  std::vector<std::size_t> first_part_;  // by file: index into parts_
  io::TokenVocabulary vocabulary_;
  mutable std::unique_ptr<OpenFiles> parts_;
};

}  // namespace smelt::data
