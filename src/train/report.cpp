#include "train/report.h"

#include <algorithm>

#include "base/error.h"

namespace smelt {

ReportSums::ReportSums(ReportLayout layout) : layout_(std::move(layout)), sums_(layout_.size()) {}

void ReportSums::add(std::span<const float> report) {
  CHECK(report.size() == sums_.size(), report.size(), " numbers for ", sums_.size());
  for (std::size_t i = 0; i < report.size(); ++i) sums_[i] += report[i];
  ++batches_;
}

void ReportSums::clear() {
  std::ranges::fill(sums_, 0.0);
  batches_ = 0;
}

double ReportSums::figure(std::string_view name) const {
  const auto found = std::ranges::find(layout_.figures, name);
  CHECK(found != layout_.figures.end() && batches_ > 0, name);
  return sums_[static_cast<std::size_t>(found - layout_.figures.begin())] /
         static_cast<double>(batches_);
}

std::vector<MeasuredValue> ReportSums::measures() const {
  std::vector<MeasuredValue> out;
  for (std::size_t i = 0; i < layout_.measures.size(); ++i) {
    const double sum = sums_[layout_.figures.size() + 2 * i],
                 weight = sums_[layout_.figures.size() + 2 * i + 1];
    out.push_back(
        {.name = layout_.measures[i], .value = weight == 0 ? 0 : sum / weight, .weight = weight});
  }
  return out;
}

}  // namespace smelt
