#include "examples/example_record.h"

namespace smelt {

void ExampleRecords::put(std::uint64_t key, const MaskedPair& pair, std::string& out) {
  put_value(ExampleHead{.key = key,
                        .a = static_cast<std::uint32_t>(pair.a.size()),
                        .b = static_cast<std::uint32_t>(pair.b.size()),
                        .masks = static_cast<std::uint32_t>(pair.masks.size()),
                        .random_next = pair.random_next},
            out);
  codec_.put(pair.a, out);
  codec_.put(pair.b, out);
  replacements_.clear();
  for (const Mask& mask : pair.masks) {
    replacements_.push_back(mask.replacement);
    put_value(mask.position, out);
  }
  codec_.put(replacements_, out);
}

MaskedPair ExampleRecords::take(const ExampleHead& head, std::string_view body) {
  a_.clear();
  b_.clear();
  replacements_.clear();
  masks_.clear();
  codec_.take(body, head.a, a_);
  codec_.take(body, head.b, b_);
  for (std::uint32_t i = 0; i < head.masks; ++i)
    masks_.push_back({.position = take_value<std::uint32_t>(body), .replacement = 0});
  codec_.take(body, head.masks, replacements_);
  for (std::uint32_t i = 0; i < head.masks; ++i) masks_[i].replacement = replacements_[i];
  return {a_, b_, head.random_next != 0, masks_};
}

}  // namespace smelt
