#include "evaluation/metrics/classification.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "base/columns.h"
#include "base/error.h"

namespace smelt::evaluation {
namespace {

double share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

void report_row(std::ostream& out, std::size_t width, const std::string& name,
                const PrecisionRecall& row) {
  const std::size_t pad = width - std::min(width, columns(name));
  out << std::string(pad, ' ') << name << ' ';
  for (const double figure : {row.precision, row.recall, row.f1})
    out << ' ' << std::setw(9) << figure;
  out << ' ' << std::setw(9) << row.support << '\n';
}

}  // namespace

ClassCounts::ClassCounts(std::size_t classes, std::span<const std::size_t> predicted,
                         std::span<const std::size_t> wanted)
    : ClassCounts(classes) {
  if (predicted.size() != wanted.size())
    throw UsageError(
        str("classes: ", predicted.size(), " predictions for ", wanted.size(), " references"),
        "give one prediction for each reference, in their order");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::max(predicted[i], wanted[i]) >= classes)
      throw UsageError(str("classes: example ", i, " has class ", std::max(predicted[i], wanted[i]),
                           ", but there are ", classes),
                       "pass the names of all classes");
    add(predicted[i], wanted[i]);
  }
}

void ClassCounts::add(std::span<const std::size_t> predicted, std::span<const std::size_t> wanted) {
  std::int64_t right = 0;
  for (const std::size_t c : predicted) {
    ++predicted_[c];
    const bool is_right = std::ranges::binary_search(wanted, c);
    right_[c] += is_right ? 1 : 0;
    right += is_right ? 1 : 0;
  }
  const PrecisionRecall sample = precision_recall(right, std::ssize(predicted), std::ssize(wanted));
  samples_.precision += sample.precision;
  samples_.recall += sample.recall;
  samples_.f1 += sample.f1;
  samples_.support += sample.support;
  for (const std::size_t c : wanted) ++wanted_[c];
  all_right_ += std::ranges::equal(predicted, wanted) ? 1 : 0;
  ++total_;
}

PrecisionRecall precision_recall(std::int64_t right, std::int64_t predicted, std::int64_t wanted) {
  const auto n = static_cast<double>(right), p = static_cast<double>(predicted),
             w = static_cast<double>(wanted);
  return {share(n, p), share(n, w), share(2 * n, p + w), wanted};
}

PrecisionRecall macro_average(std::span<const PrecisionRecall> classes) {
  PrecisionRecall sum;
  for (const PrecisionRecall& c : classes) {
    sum.precision += c.precision;
    sum.recall += c.recall;
    sum.f1 += c.f1;
    sum.support += c.support;
  }
  const auto n = static_cast<double>(classes.size());
  return {share(sum.precision, n), share(sum.recall, n), share(sum.f1, n), sum.support};
}

PrecisionRecall weighted_average(std::span<const PrecisionRecall> classes) {
  PrecisionRecall sum;
  for (const PrecisionRecall& c : classes) {
    const auto weight = static_cast<double>(c.support);
    sum.precision += weight * c.precision;
    sum.recall += weight * c.recall;
    sum.f1 += weight * c.f1;
    sum.support += c.support;
  }
  const auto n = static_cast<double>(sum.support);
  return {share(sum.precision, n), share(sum.recall, n), share(sum.f1, n), sum.support};
}

double accuracy(const ClassCounts& counts) {
  return share(static_cast<double>(counts.right()), static_cast<double>(counts.total()));
}

std::vector<PrecisionRecall> by_class(const ClassCounts& counts) {
  std::vector<PrecisionRecall> out;
  for (std::size_t c = 0; c < counts.classes(); ++c)
    out.push_back(precision_recall(counts.right(c), counts.predicted(c), counts.wanted(c)));
  return out;
}

PrecisionRecall micro_average(const ClassCounts& counts) {
  std::int64_t right = 0, predicted = 0, wanted = 0;
  for (std::size_t c = 0; c < counts.classes(); ++c) {
    right += counts.right(c);
    predicted += counts.predicted(c);
    wanted += counts.wanted(c);
  }
  return precision_recall(right, predicted, wanted);
}

PrecisionRecall sample_average(const ClassCounts& counts) {
  const PrecisionRecall& sums = counts.sample_sums();
  const auto n = static_cast<double>(counts.total());
  return {share(sums.precision, n), share(sums.recall, n), share(sums.f1, n), sums.support};
}

double matthews(const ClassCounts& counts) {
  double both = 0, predicted = 0, wanted = 0, with_class = 0;
  for (std::size_t c = 0; c < counts.classes(); ++c) {
    const auto p = static_cast<double>(counts.predicted(c));
    const auto w = static_cast<double>(counts.wanted(c));
    both += p * w;
    predicted += p * p;
    with_class += p;
    wanted += w * w;
  }
  const auto total = static_cast<double>(counts.total());
  predicted += (total - with_class) * (total - with_class);
  const double covariance = total * static_cast<double>(counts.right()) - both;
  return share(covariance, std::sqrt((total * total - predicted) * (total * total - wanted)));
}

std::string classification_report(const ClassCounts& counts, std::span<const std::string> names,
                                  int digits, ReportOf of) {
  CHECK(names.size() == counts.classes(), names.size(), " names");
  std::vector<PrecisionRecall> rows;
  std::vector<std::string> named;
  std::size_t width = std::string_view("weighted avg").size();
  const std::vector<PrecisionRecall> all = by_class(counts);
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (counts.predicted(c) + counts.wanted(c) == 0) continue;
    rows.push_back(all[c]);
    named.push_back(names[c]);
    width = std::max(width, columns(names[c]));
  }
  std::ostringstream out;
  out << std::string(width + 1, ' ');
  for (const char* head : {"precision", "recall", "f1-score", "support"})
    out << ' ' << std::setw(9) << head;
  out << "\n\n" << std::fixed << std::setprecision(digits);
  for (std::size_t r = 0; r < rows.size(); ++r) report_row(out, width, named[r], rows[r]);
  out << '\n';
  if (of == ReportOf::lists)
    report_row(out, width, "micro avg", micro_average(counts));
  else
    out << std::setw(static_cast<int>(width)) << "accuracy" << std::string(22, ' ') << std::setw(9)
        << accuracy(counts) << ' ' << std::setw(9) << counts.total() << '\n';
  report_row(out, width, "macro avg", macro_average(rows));
  report_row(out, width, "weighted avg", weighted_average(rows));
  if (of == ReportOf::lists) report_row(out, width, "samples avg", sample_average(counts));
  return out.str();
}

}  // namespace smelt::evaluation
