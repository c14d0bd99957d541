#include <algorithm>
#include <iomanip>

#include "base/number_format.h"
#include "base/plural.h"
#include "data/preprocess/row_overview.h"

namespace smelt::data {
namespace {

constexpr std::size_t kShownLabels = 12, kShownText = 100;

std::string line(std::string_view name, const std::string& value) {
  std::ostringstream out;
  out << "  " << std::left << std::setw(14) << name << value << "\n";
  return out.str();
}

std::string labels_text(const OrderedJson& labels) {
  std::vector<std::pair<std::uint64_t, std::string>> most;
  std::uint64_t all = 0;
  for (const auto& [name, rows] : labels.items()) {
    most.emplace_back(rows.get<std::uint64_t>(), name);
    all += most.back().first;
  }
  std::ranges::stable_sort(most, std::greater(), &std::pair<std::uint64_t, std::string>::first);
  std::vector<std::string> out;
  for (const auto& [rows, name] : most) {
    if (out.size() == kShownLabels) {
      out.push_back(str("and ", most.size() - kShownLabels, " more"));
      break;
    }
    out.push_back(str(name, " ", rows, " (", percent(share(rows, all)), ")"));
  }
  return join(out, ", ");
}

std::string lengths_text(const OrderedJson& lengths, const OrderedJson& rows) {
  if (lengths.is_null()) return "none";
  std::string out =
      str("median ", lengths["median"].dump(), " ", lengths["unit"].get<std::string>(),
          ", 90 % up to ", lengths["p90"].dump(), ", 99 % up to ", lengths["p99"].dump(),
          ", longest ", lengths["longest"].dump());
  if (lengths.contains("cut"))
    out += str("; ", percent(share(lengths["cut"].get<std::uint64_t>(), rows.get<std::uint64_t>())),
               " longer than ", lengths["limit"].dump());
  return out;
}

std::string split_text(const OrderedJson& split) {
  const auto left = split["left_out"].get<std::uint64_t>();
  std::string out = str(split["split"].get<std::string>(), ": ",
                        counted(split["rows"].get<std::uint64_t>(), "row"),
                        left > 0 ? str(", ", left, " left out") : "", "\n");
  if (split.contains("labels"))
    out += line(split["different_labels"] == 1 ? "1 label"
                                               : str(split["different_labels"].dump(), " labels"),
                labels_text(split["labels"]));
  if (split.contains("numbers"))
    out += line("numbers", str("from ", rounded(split["numbers"]["least"], 3), " to ",
                               rounded(split["numbers"]["largest"], 3), ", mean ",
                               rounded(split["numbers"]["mean"], 3)));
  out += line("texts", lengths_text(split["lengths"], split["rows"]));
  if (split.contains("label_lengths"))
    out += line("answers", lengths_text(split["label_lengths"], split["rows"]));
  if (split.contains("unknown_tokens"))
    out += line("unknown", percent(split["unknown_tokens"]) + " of the tokens");
  const auto same_line = [&](std::string_view name, const OrderedJson& rows,
                             const OrderedJson& other) {
    if (rows != 0)
      out += line(name, str(counted(rows.get<std::uint64_t>(), "row"), ", ", other.dump(),
                            " of them with another label"));
  };
  same_line("same text", split["same_text"], split["same_text_other_label"]);
  for (const OrderedJson& shared : split["shared"])
    same_line("in " + shared["split"].get<std::string>(), shared["rows"], shared["other_label"]);
  return out;
}

}  // namespace

std::string overview_text(const OrderedJson& overview) {
  std::string out;
  for (const OrderedJson& split : overview["splits"]) out += split_text(split);
  for (const OrderedJson& one : overview["examples"]) {
    out += str(one["what"].get<std::string>(), ": ",
               shortened(one["text"].get<std::string>(), kShownText), "\n");
    for (const std::size_t i : {0, 1})
      out += str("  ", one["places"][i].get<std::string>(), ": ",
                 shortened(one["labels"][i].get<std::string>(), kShownText), "\n");
  }
  out += overview["findings"].empty() ? "no problems found\n" : "to look at:\n";
  for (const OrderedJson& finding : overview["findings"])
    out += str("  * ", finding.get<std::string>(), "\n");
  return out;
}

}  // namespace smelt::data
