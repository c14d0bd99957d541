#include "data/input_pipeline/token_files.h"

#include "base/error.h"
#include "base/parallel.h"
#include "data/input_pipeline/record_index.h"

namespace smelt::data {
namespace {

constexpr std::size_t kOpenParts = 256;

}  // namespace

TokenFiles::TokenFiles(std::vector<std::string> paths, std::uint64_t memory)
    : paths_(std::move(paths)), files_(paths_.size()) {
  TokenMemory left(memory);
  run_each(paths_.size(), kSideBySide,
           [&](std::size_t file) { files_[file] = open_token_file(paths_[file], left); });
  std::vector<std::string> parts;
  for (const auto& file : files_) {
    first_part_.push_back(parts.size());
    parts.insert(parts.end(), file->parts().begin(), file->parts().end());
  }
  parts_ = std::make_unique<OpenFiles>(std::move(parts), kOpenParts);
  check_vocabularies();
}

void TokenFiles::check_vocabularies() {
  std::size_t first = 0;
  for (std::size_t file = 0; file < files_.size(); ++file) {
    const io::TokenVocabulary& found = files_[file]->vocabulary();
    if (!found.crc32c) continue;
    if (!vocabulary_.crc32c) {
      vocabulary_ = found;
      first = file;
    } else if (*found.crc32c != *vocabulary_.crc32c) {
      throw UsageError(
          str(paths_[file], ": made with a vocabulary whose CRC-32C is ", *found.crc32c,
              ", but that of ", paths_[first], " has ", *vocabulary_.crc32c),
          "make all of them with the same vocabulary");
    }
  }
}

TokenFile::Open TokenFiles::opener(std::size_t file) const {
  return [this, file](std::size_t part) { return parts_->open(first_part_[file] + part); };
}

void TokenFiles::read(std::size_t file, std::uint64_t first, std::span<std::int32_t> out) const {
  files_[file]->read(opener(file), first, out);
}

std::vector<std::uint64_t> TokenFiles::document_ends(std::size_t file) const {
  return files_[file]->document_ends(opener(file));
}

}  // namespace smelt::data
