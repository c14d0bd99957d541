#include "evaluation/metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/str.h"
#include "evaluation/metrics/words.h"
#include "text/readers/unicode.h"

namespace smelt::evaluation {
namespace {

constexpr std::size_t kOrders = 4;

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t found = std::min(text.find(what, at), text.size());
    out.append(text.substr(at, found - at));
    if (found == text.size()) break;
    out += by;
    at = found + what.size();
  }
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns whether a symbol always forms a separate word; ' , - . and letters do not.
bool is_symbol(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Replaces each pair of bytes (a)(b) that `splits` accepts, from the left and without overlap, as
// the original's regular expressions do. In `form` 'a' and 'b' stand for the two bytes; other
// characters are copied.
template <class Splits>
std::string split_pairs(const std::string& text, const Splits& splits, std::string_view form) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !splits(text[i], text[i + 1])) {
      out += text[i];
      continue;
    }
    for (const char c : form) out += c == 'a' ? text[i] : c == 'b' ? text[i + 1] : c;
    ++i;
  }
  return out;
}

}  // namespace

std::vector<std::string> words_13a(std::string_view text) {
  std::string line = replaced(text::python_strip(str("|", text)).substr(1), "<skipped>", "");
  line = replaced(replaced(line, "-\n", ""), "\n", " ");
  for (const auto& [what, by] :
       {std::pair{"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}})
    line = replaced(line, what, by);
  std::string spaced = " ";
  for (const char c : line + " ") spaced += is_symbol(c) ? str(' ', c, ' ') : std::string(1, c);
  const auto stop = [](char c) { return c == '.' || c == ','; };
  spaced = split_pairs(spaced, [&](char a, char b) { return !is_digit(a) && stop(b); }, "a b ");
  spaced = split_pairs(spaced, [&](char a, char b) { return stop(a) && !is_digit(b); }, " a b");
  spaced = split_pairs(spaced, [](char a, char b) { return is_digit(a) && b == '-'; }, "a b ");
  return python_split(spaced);
}

BleuCounts& BleuCounts::operator+=(const BleuCounts& other) {
  for (std::size_t n = 0; n < kOrders; ++n) {
    right[n] += other.right[n];
    total[n] += other.total[n];
  }
  predicted += other.predicted;
  wanted += other.wanted;
  return *this;
}

BleuCounts bleu_counts(std::string_view predicted, std::span<const std::string> references) {
  if (references.empty())
    throw UsageError("BLEU: a prediction has no reference",
                     "give at least one reference for each prediction");
  const std::vector<std::string> words = words_13a(predicted);
  BleuCounts out{.predicted = std::ssize(words), .wanted = -1};
  std::array<Ngrams, kOrders> most;  // largest count over the references
  for (const std::string& reference : references) {
    const std::vector<std::string> wanted = words_13a(reference);
    const std::int64_t length = std::ssize(wanted);
    const auto far = [&](std::int64_t n) { return std::pair(std::abs(n - out.predicted), n); };
    if (out.wanted < 0 || far(length) < far(out.wanted)) out.wanted = length;
    for (std::size_t n = 0; n < kOrders; ++n)
      for (const auto& [run, count] : ngrams_of(wanted, n + 1))
        most[n][run] = std::max(most[n][run], count);
  }
  for (std::size_t n = 0; n < kOrders; ++n) {
    out.right[n] = static_cast<std::int64_t>(shared(ngrams_of(words, n + 1), most[n]));
    out.total[n] = std::max<std::int64_t>(0, out.predicted - static_cast<std::int64_t>(n));
  }
  return out;
}

double bleu(const BleuCounts& c) {
  if (std::ranges::all_of(c.right, [](std::int64_t n) { return n == 0; })) return 0;
  double logs = 0, smoothing = 1;
  for (std::size_t n = 0; n < kOrders; ++n) {
    if (c.total[n] == 0) return 0;
    double right = static_cast<double>(c.right[n]);
    if (c.right[n] == 0) right = 1 / (smoothing *= 2);
    logs += std::log(100 * right / static_cast<double>(c.total[n]));
  }
  const double brevity = c.predicted >= c.wanted
                             ? 0
                             : 1 - static_cast<double>(c.wanted) / static_cast<double>(c.predicted);
  return std::exp(brevity + logs / kOrders);
}

}  // namespace smelt::evaluation
