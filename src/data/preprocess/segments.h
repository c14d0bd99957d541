// ELECTRA's examples (Clark et al. 2020) out of a stream of sentences, by the rules and in the
// order of draws of google-research/electra's build_pretraining_dataset.py.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/stream_random.h"

namespace smelt {

// [CLS] a [SEP] b [SEP]; an empty b has no [SEP].
struct Segments {
  std::span<const std::int32_t> a, b;

  std::size_t tokens() const { return a.size() + b.size() + (b.empty() ? 2 : 3); }
};

// Random is PythonRandom or StreamRandom.
template <class Random>
class SegmentDrawer {
 public:
  // seq_length: tokens of an example, at least 5.
  explicit SegmentDrawer(std::int64_t seq_length);

  // How long the next example is to be: of full length, which the first one is without this call,
  // or one time in twenty of any other. draw() ends with it.
  void draw_target(Random& random);
  // Whether the sentences are now enough for an example.
  bool add(std::span<const std::int32_t> sentence);
  bool has_text() const { return !ids_.empty(); }
  // The example of the sentences since the last one; it stays until the next call.
  Segments draw(Random& random);

 private:
  std::size_t seq_length_, target_;
  // Of the example at hand.
  std::vector<std::int32_t> ids_, first_, second_;
  std::vector<std::size_t> ends_;  // of sentences in ids_
};

}  // namespace smelt
