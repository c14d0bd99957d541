// Builds ELECTRA's examples (Clark et al. 2020) from a stream of sentences, with the rules and
// order of random draws of google-research/electra's build_pretraining_dataset.py.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/stream_random.h"

namespace smelt::data {

// An example: [CLS] a [SEP] b [SEP], or [CLS] a [SEP] if b is empty.
struct Segments {
  std::span<const std::int32_t> a, b;

  std::size_t tokens() const { return a.size() + b.size() + (b.empty() ? 2 : 3); }
};

// Draws examples. Random is PythonRandom or StreamRandom.
template <class Random>
class SegmentDrawer {
 public:
  // `seq_length` is the number of tokens of an example, at least 5.
  explicit SegmentDrawer(std::int64_t seq_length);

  // Draws the length of the next example: usually the full length, one time in twenty a random one.
  // draw() calls this for the following example. The first example has the full length unless the
  // caller calls this first.
  void draw_target(Random& random);
  // Adds a sentence. Returns whether there is enough text for an example.
  bool add(std::span<const std::int32_t> sentence);
  bool has_text() const { return !ids_.empty(); }
  // Returns an example from the sentences added since the last one, valid until the next call.
  Segments draw(Random& random);

 private:
  std::size_t seq_length_, target_;
  // The sentences collected for the next example, and the two segments that draw() returned.
  std::vector<std::int32_t> ids_, first_, second_;
  std::vector<std::size_t> ends_;  // ends of the sentences in ids_
};

}  // namespace smelt::data
