#include "pipeline/objectives/bert_report.h"

#include <algorithm>
#include <cstdio>

#include "base/number_format.h"
#include "base/str.h"
#include "data/preprocess/bert_statistics.h"
#include "pipeline/objectives/show_example.h"

namespace smelt::pipeline {
namespace {

const data::BertStatistics& of_bert(const data::KindStatistics& statistics) {
  return dynamic_cast<const data::BertStatistics&>(statistics);
}

// Returns a histogram with at most `most` bars, each for an equal number of lengths.
std::string histogram(const std::vector<std::uint64_t>& counts, std::size_t most) {
  constexpr std::size_t kWidth = 40;
  const std::size_t run = (counts.size() + most - 1) / most;
  std::vector<std::uint64_t> runs((counts.size() + run - 1) / run);
  for (std::size_t i = 0; i < counts.size(); ++i) runs[i / run] += counts[i];
  const std::uint64_t largest = std::max<std::uint64_t>(1, std::ranges::max(runs));
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t last = std::min(counts.size(), (i + 1) * run) - 1;
    const auto width = static_cast<std::size_t>((runs[i] * kWidth + largest - 1) / largest);
    char label[64];
    std::snprintf(label, sizeof label, "  %5zu", i * run);
    out += label;
    std::snprintf(label, sizeof label, run == 1 ? "      " : "-%-5zu", last);
    out += str(label, " ", std::string(width, '#'), std::string(kWidth - width, ' '), " ", runs[i],
               "\n");
  }
  return out;
}

void put_json(const data::KindStatistics& statistics, data::SpecialIds ids, OrderedJson& out) {
  const data::BertStatistics& s = of_bert(statistics);
  out["seq_length"] = s.shape.seq_length;
  out["max_predictions"] = s.shape.max_predictions;
  out["tokens"] = s.tokens;
  out["predictions"] = s.predictions;
  out["random_next"] = s.random_next;
  out["largest_id"] = s.largest_id;
  out["lengths"] = s.lengths;
  out["mask_positions"] = s.mask_positions;
  out["masks"] = nullptr;
  if (ids.mask >= 0)
    out["masks"] = {{"masked", s.masks.masked}, {"kept", s.masks.kept}, {"random", s.masks.random}};
  out["unknown"] = nullptr;
  if (ids.unknown >= 0) out["unknown"] = s.unknown;
}

std::string masks_text(const data::BertStatistics& s, data::SpecialIds ids) {
  std::string out =
      str("masked:      ", percent(share(s.predictions, s.tokens)), " of the tokens, ");
  if (ids.mask < 0) return out + "give --vocab to see how\n";
  return out + str("of which ", percent(share(s.masks.masked, s.predictions)), " [MASK], ",
                   percent(share(s.masks.kept, s.predictions)), " kept, ",
                   percent(share(s.masks.random, s.predictions)), " random\n");
}

std::string summary(const data::KindStatistics& statistics, data::SpecialIds ids,
                    std::uint64_t good) {
  const data::BertStatistics& s = of_bert(statistics);
  const std::uint64_t places = good * static_cast<std::uint64_t>(s.shape.seq_length);
  std::string out = str("sequences:   ", s.shape.seq_length, " tokens, ",
                        percent(share(places - s.tokens, places)), " padding\n",
                        "predictions: ", rounded(share(s.predictions, good), 1),
                        " a sequence, at most ", s.shape.max_predictions, "\n", masks_text(s, ids),
                        "random next: ", percent(share(s.random_next, good)), "\n",
                        "largest id:  ", s.largest_id, "\n");
  if (ids.unknown >= 0)
    out += str("unknown:     ", percent(share(s.unknown, s.tokens)), " of the tokens\n");
  return out;
}

std::string histograms(const data::KindStatistics& statistics) {
  const data::BertStatistics& s = of_bert(statistics);
  return str("tokens of a sequence, without padding:\n", histogram(s.lengths, 17),
             "predictions of a sequence:\n", histogram(s.mask_positions, 24));
}

}  // namespace

RecordReport bert_record_report() {
  return {
      .find = data::find_bert_records,
      .put_json = put_json,
      .summary = summary,
      .histograms = histograms,
      .sample =
          [](const std::string& place, const data::Batch& row, const text::Vocabulary* vocabulary,
             bool colour) { return show_example(place, data::BertRow(row), vocabulary, colour); },
      .legend = example_legend};
}

}  // namespace smelt::pipeline
