// A masked pair with its place in the shuffle, as it stands in temporary files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "examples/id_codec.h"
#include "examples/sentence_pairs.h"

namespace smelt {

struct ExampleHead {
  std::uint64_t key = 0;                                   // examples are written in its order
  std::uint32_t a = 0, b = 0, masks = 0, random_next = 0;  // numbers of tokens and masks; a flag

  std::size_t body_bytes(const IdCodec& codec) const {
    return codec.bytes(a + b + masks) + masks * sizeof(std::uint32_t);
  }
};

class ExampleRecords {
 public:
  explicit ExampleRecords(std::int64_t vocab_size) : codec_(vocab_size) {}

  const IdCodec& codec() const { return codec_; }
  void put(std::uint64_t key, const MaskedPair& pair, std::string& out);
  // The view lives until the next call. `body` are the head's body_bytes.
  MaskedPair take(const ExampleHead& head, std::string_view body);

 private:
  IdCodec codec_;
  std::vector<std::int32_t> a_, b_, replacements_;
  std::vector<Mask> masks_;
};

}  // namespace smelt
