#include "data/preprocess/segments.h"

#include <algorithm>

namespace smelt::data {
namespace {

constexpr double kOneSegment = 0.1, kOverfull = 0.5, kOtherLength = 0.05;
constexpr std::size_t kNoLimit = 100000;  // the original's constant
constexpr std::int64_t kLeastTarget = 5;

}  // namespace

template <class Random>
SegmentDrawer<Random>::SegmentDrawer(std::int64_t seq_length)
    : seq_length_(static_cast<std::size_t>(seq_length)), target_(seq_length_) {}

template <class Random>
void SegmentDrawer<Random>::draw_target(Random& random) {
  target_ = seq_length_;
  if (random.random() < kOtherLength)
    target_ = static_cast<std::size_t>(
        random.randint(kLeastTarget, static_cast<std::int64_t>(seq_length_)));
}

template <class Random>
bool SegmentDrawer<Random>::add(std::span<const std::int32_t> sentence) {
  if (sentence.empty()) return false;  // the original keeps it, which has no effect
  ids_.insert(ids_.end(), sentence.begin(), sentence.end());
  ends_.push_back(ids_.size());
  return ids_.size() >= target_;
}

template <class Random>
Segments SegmentDrawer<Random>::draw(Random& random) {
  const std::size_t wanted = random.random() < kOneSegment ? kNoLimit : (target_ - 3) / 2;
  first_.clear();
  second_.clear();
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    const auto sentence = std::span(ids_).subspan(begin, end - begin);
    begin = end;
    const bool to_first =
        first_.empty() || first_.size() + sentence.size() < wanted ||
        (second_.empty() && first_.size() < wanted && random.random() < kOverfull);
    std::vector<std::int32_t>& segment = to_first ? first_ : second_;
    segment.insert(segment.end(), sentence.begin(), sentence.end());
  }
  ids_.clear();
  ends_.clear();
  draw_target(random);
  first_.resize(std::min(first_.size(), seq_length_ - 2));
  const std::size_t left = seq_length_ - std::min(seq_length_, first_.size() + 3);
  second_.resize(std::min(second_.size(), left));
  return {.a = first_, .b = second_};
}

template class SegmentDrawer<PythonRandom>;
template class SegmentDrawer<StreamRandom>;

}  // namespace smelt::data
