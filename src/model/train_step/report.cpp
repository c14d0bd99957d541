#include "model/train_step/report.h"

#include <algorithm>

#include "base/error.h"

namespace smelt::model {

std::size_t ReportLayout::size() const {
  std::size_t size = figures.size();
  for (const ReportedMeasure& m : measures) size += m.sums + 1;
  return size;
}

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
  std::span<const double> rest = std::span(sums_).subspan(layout_.figures.size());
  for (const ReportedMeasure& m : layout_.measures) {
    const auto sums = rest.first(m.sums);
    const double weight = rest[m.sums];
    rest = rest.subspan(m.sums + 1);
    out.push_back({.name = m.name, .weight = weight});
    if (weight != 0) out.back().value = m.finish ? m.finish(sums) : sums[0] / weight;
  }
  return out;
}

double ReportSums::loss() const {
  double out = 0;
  const auto values = measures();
  for (std::size_t i = 0; i < values.size(); ++i)
    out += layout_.measures[i].loss_factor * values[i].value;
  return out;
}

}  // namespace smelt::model
