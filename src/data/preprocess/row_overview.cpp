#include "data/preprocess/row_overview.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>

#include "base/number_format.h"
#include "base/plural.h"
#include "data/preprocess/duplicate_rows.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt::data {
namespace {

// Maximum number of names to store; others are only counted.
constexpr std::size_t kMostLabels = 10000;

class Lengths {
 public:
  void add(std::size_t length) {
    ++of_[length];
    ++count_;
  }
  std::size_t quantile(double q) const {
    const auto rank = static_cast<std::uint64_t>(q * static_cast<double>(count_ - 1) + 0.5);
    std::uint64_t seen = 0;
    for (const auto& [length, rows] : of_)
      if ((seen += rows) > rank) return length;
    return 0;
  }
  std::uint64_t above(std::size_t limit) const {
    std::uint64_t out = 0;
    for (auto i = of_.upper_bound(limit); i != of_.end(); ++i) out += i->second;
    return out;
  }
  OrderedJson json(const RowOverviewJob& job) const {
    if (count_ == 0) return nullptr;
    OrderedJson out{{"unit", job.vocab.empty() ? "words" : "tokens"},
                    {"median", quantile(0.5)},
                    {"p90", quantile(0.9)},
                    {"p99", quantile(0.99)},
                    {"longest", of_.rbegin()->first}};
    if (job.vocab.empty()) return out;
    out["limit"] = job.seq_length;
    out["cut"] = above(static_cast<std::size_t>(job.seq_length));
    return out;
  }

 private:
  std::map<std::size_t, std::uint64_t> of_;
  std::uint64_t count_ = 0;
};

struct Numbers {
  double least = std::numeric_limits<double>::infinity(), sum = 0, largest = -least;

  void add(double value) {
    least = std::min(least, value);
    largest = std::max(largest, value);
    sum += value;
  }
};

class SplitOverview {
 public:
  // `known` are class names, as in LabelledFiles.
  SplitOverview(const RowOverviewJob& job, const std::vector<std::string>& known,
                const text::Tokenizer* tokenizer)
      : job_(job),
        known_(known),
        tokenizer_(tokenizer),
        reader_({.problem = job.problem, .names = {}}) {}

  void add(const LabelledRow& row, const std::string& place) {
    ++rows_;
    const std::size_t text = length_of(row.text);
    lengths_.add(text + length_of(row.pair) + special_tokens(row));
    if (!job_.are_classes) return label_lengths_.add(length_of(row.label) + (tokenizer_ ? 1 : 0));
    if (io::is_number(job_.problem)) return numbers_.add(reader_.number(row.label, place));
    for (const std::string& name : label_names(job_.problem, row.label, known_)) {
      different_.insert(std::hash<std::string>()(name));
      if (labels_.size() < kMostLabels || labels_.contains(name)) ++labels_[name];
    }
  }

  OrderedJson json(const std::string& name, std::uint64_t left_out) const {
    OrderedJson out{{"split", name}, {"rows", rows_}, {"left_out", left_out}};
    if (!job_.are_classes)
      out["label_lengths"] = label_lengths_.json(job_);
    else if (io::is_number(job_.problem))
      out["numbers"] = {{"least", rows_ ? numbers_.least : 0},
                        {"mean", share(numbers_.sum, rows_)},
                        {"largest", rows_ ? numbers_.largest : 0}};
    else
      out["labels"] = labels_, out["different_labels"] = different_.size();
    out["lengths"] = lengths_.json(job_);
    if (tokenizer_ != nullptr) out["unknown_tokens"] = share(unknown_, tokens_);
    return out;
  }

 private:
  std::size_t length_of(const std::string& text) {
    if (tokenizer_ == nullptr) return text::words_in(text).size();
    ids_.clear();
    tokenizer_->encode(text, ids_);
    tokens_ += ids_.size();
    unknown_ += static_cast<std::uint64_t>(std::ranges::count(ids_, tokenizer_->unknown()));
    return ids_.size();
  }
  // Returns the number of special tokens: [CLS] and a [SEP] after each text, or T5's </s>.
  std::size_t special_tokens(const LabelledRow& row) const {
    if (tokenizer_ == nullptr) return 0;
    if (!job_.are_classes) return 1;
    return row.pair.empty() ? 2 : 3;
  }

  const RowOverviewJob& job_;
  const std::vector<std::string>& known_;
  const text::Tokenizer* tokenizer_;
  LabelReader reader_;
  std::uint64_t rows_ = 0, tokens_ = 0, unknown_ = 0;
  std::map<std::string, std::uint64_t> labels_;
  std::unordered_set<std::size_t> different_;  // hashes of all names
  Numbers numbers_;
  Lengths lengths_, label_lengths_;
  std::vector<std::int32_t> ids_;
};

// Formats a number of rows: "12 rows (0.3 %)".
std::string part(std::uint64_t rows, const OrderedJson& split) {
  return str(counted(rows, "row"), " (", percent(share(rows, split["rows"].get<std::uint64_t>())),
             ")");
}

constexpr double kLopsided = 0.9, kOftenCut = 0.05, kOftenUnknown = 0.01;

// Returns the labels that are equal to another one except for case.
std::vector<std::string> labels_of_two_cases(const OrderedJson& labels) {
  std::map<std::string, std::vector<std::string>> by_letters;
  for (const auto& [name, count] : labels.items())
    by_letters[text::case_folded(name)].push_back(name);
  std::vector<std::string> out;
  for (const auto& [letters, names] : by_letters)
    if (names.size() > 1) out.insert(out.end(), names.begin(), names.end());
  return out;
}

void find_label_faults(const OrderedJson& split, std::vector<std::string>& out) {
  if (!split.contains("labels") || split["labels"].empty()) return;
  std::vector<std::string> alone;
  std::uint64_t all = 0, most = 0;
  std::string most_name;
  for (const auto& [name, count] : split["labels"].items()) {
    const auto rows = count.get<std::uint64_t>();
    if (rows == 1) alone.push_back(name);
    if (rows > most) most = rows, most_name = name;
    all += rows;
  }
  const std::string where = split["split"].get<std::string>() + ": ";
  if (const auto names = labels_of_two_cases(split["labels"]); !names.empty())
    out.push_back(str(where, "labels that differ only in case are different classes: ",
                      shortened(join(names, ", "), 100)));
  if (!alone.empty())
    out.push_back(str(where, counted(alone.size(), "class has", "classes have"),
                      " only one example: ", shortened(join(alone, ", "), 100)));
  if (share(most, all) >= kLopsided)
    out.push_back(str(where, "'", most_name, "' is ", percent(share(most, all)),
                      " of all, the accuracy of always predicting it"));
}

void find_faults(const OrderedJson& split, std::vector<std::string>& out) {
  const std::string where = split["split"].get<std::string>() + ": ";
  const auto rows_of = [&](const char* key) { return split.value(key, std::uint64_t{0}); };
  if (rows_of("rows") == 0) out.push_back(where + "holds no row that can be read");
  if (const auto left = rows_of("left_out"); left > 0)
    out.push_back(str(where, counted(left, "row"), " cannot be read and would be left out"));
  if (split.contains("label_forms"))
    out.push_back(
        str(where, "labels in several Unicode forms (NFC, NFD), treated as one: ",
            shortened(join(split["label_forms"].get<std::vector<std::string>>(), ", "), 100)));
  if (split.contains("unknown_labels") && !split["unknown_labels"].empty()) {
    std::vector<std::string> names;
    for (const auto& [name, rows] : split["unknown_labels"].items()) names.push_back(name);
    out.push_back(str(where, counted(names.size(), "label"),
                      " that training does not have: ", shortened(join(names, ", "), 100)));
  }
  for (const OrderedJson& shared : split["shared"])
    out.push_back(str(where, part(shared["rows"], split), " are also in ",
                      shared["split"].get<std::string>(),
                      ": metrics on them say little about new data"));
  if (const auto rows = rows_of("same_text_other_label"); rows > 0)
    out.push_back(str(where, part(rows, split), " have the text of another row and another label"));
  const OrderedJson& lengths = split["lengths"];
  if (lengths.is_object() && lengths.contains("cut"))
    if (const auto cut = lengths["cut"].get<std::uint64_t>();
        share(cut, split["rows"].get<std::uint64_t>()) > kOftenCut)
      out.push_back(str(where, part(cut, split), " are cut to ", lengths["limit"].dump(),
                        " tokens; 99 % have up to ", lengths["p99"].dump()));
  if (const double unknown = split.value("unknown_tokens", 0.0); unknown > kOftenUnknown)
    out.push_back(str(where, percent(unknown), " of the tokens are unknown to the vocabulary"));
}

// Returns the settings without a limit on the number of unreadable rows.
LabelledFiles all_of(LabelledFiles files) {
  files.limits = {.max_bad = 1};
  return files;
}

// Reads the rows of the examples again and adds them to the overview.
void show_examples(const RowOverviewJob& job, const std::vector<SameText>& wanted,
                   OrderedJson& out) {
  for (const SameText& one : wanted)
    out.push_back({{"what", one.other_label ? "same text, another label" : "same text"},
                   {"text", ""},
                   {"places", {"", ""}},
                   {"labels", {"", ""}}});
  for (std::size_t split = 0; split < job.splits.size(); ++split) {
    auto rows = LabelledRows::quiet(all_of(job.splits[split].files), job.splits[split].name);
    std::uint32_t number = 0;
    for (LabelledRow row; rows.next(row); ++number)
      for (std::size_t i = 0; i < wanted.size(); ++i)
        for (const std::size_t which : {0, 1}) {
          if (wanted[i].rows.at(which) != RowNumber{static_cast<std::uint32_t>(split), number})
            continue;
          if (which == 0)
            out[i]["text"] = row.pair.empty() ? row.text : str(row.text, " | ", row.pair);
          out[i]["places"][which] = rows.place();
          out[i]["labels"][which] = row.label;
        }
  }
}

// Compares split `i` with the earlier splits: shared texts and unknown labels.
void compare_splits(const RowOverviewJob& job, const SameTextCounts& same, std::size_t i,
                    OrderedJson& splits) {
  OrderedJson& split = splits[i];
  split["same_text"] = same.within[i].rows;
  split["same_text_other_label"] = same.within[i].other_label;
  split["shared"] = OrderedJson::array();
  for (std::size_t earlier = 0; earlier < i; ++earlier)
    if (const auto& [rows, other] = same.across[i][earlier]; rows > 0)
      split["shared"].push_back(
          {{"split", job.splits[earlier].name}, {"rows", rows}, {"other_label", other}});
  if (i == 0 || !split.contains("labels")) return;
  // If training has more labels than are stored, unknown labels cannot be determined.
  if (splits[0]["different_labels"] > splits[0]["labels"].size()) return;
  split["unknown_labels"] = OrderedJson::object();
  for (const auto& [name, rows] : split["labels"].items())
    if (!splits[0]["labels"].contains(name)) split["unknown_labels"][name] = rows;
}

}  // namespace

OrderedJson row_overview(const RowOverviewJob& job) {
  const auto tokenizer =
      job.vocab.empty() ? nullptr : text::load_tokenizer(job.vocab, job.tokenizer);
  SameTexts texts;
  OrderedJson out{
      {"problem", job.are_classes ? word_of(job.problem, io::kProblems) : "text_to_text"},
      {"splits", OrderedJson::array()}};
  for (const auto& [name, files] : job.splits) {
    SplitOverview split(job, files.known, tokenizer.get());
    LabelledRows rows(all_of(files), name);
    texts.begin_split();
    for (LabelledRow row; rows.next(row);) {
      split.add(row, rows.place());
      texts.add(row);
    }
    out["splits"].push_back(split.json(name, rows.bad_rows()));
    const std::set<std::string>& forms = rows.labels_of_two_forms();
    if (!forms.empty()) out["splits"].back()["label_forms"] = forms;
  }
  const SameTextCounts same = texts.count();
  std::vector<std::string> findings;
  for (std::size_t i = 0; i < job.splits.size(); ++i) {
    compare_splits(job, same, i, out["splits"]);
    if (i == 0) find_label_faults(out["splits"][i], findings);
    find_faults(out["splits"][i], findings);
  }
  out["findings"] = findings;
  out["examples"] = OrderedJson::array();
  show_examples(job, same.examples, out["examples"]);
  return out;
}

}  // namespace smelt::data
