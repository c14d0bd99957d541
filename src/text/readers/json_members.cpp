#include "text/readers/json_members.h"

#include <string>

namespace smelt::text {
namespace {

class Skimmer {
 public:
  explicit Skimmer(std::string_view text) : text_(text) {}

  bool object(const VisitMember& visit) {
    if (!take('{')) return false;
    if (take('}')) return at_end();
    do {
      const auto key = next(&Skimmer::skip_string);
      if (key.empty() || !take(':')) return false;
      const auto value = next(&Skimmer::skip_value);
      if (value.empty()) return false;
      visit(key.substr(1, key.size() - 2), value);
    } while (take(','));
    return take('}') && at_end();
  }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    skip_space();
    if (!is_at(c)) return false;
    ++at_;
    return true;
  }
  // Runs `skip` and returns the text it skipped, or an empty view if it failed.
  std::string_view next(bool (Skimmer::*skip)()) {
    skip_space();
    const std::size_t begin = at_;
    return (this->*skip)() ? text_.substr(begin, at_ - begin) : std::string_view();
  }

  bool skip_string() {
    if (!is_at('"')) return false;
    const std::size_t begin = at_ + 1;
    for (std::size_t end = begin; (end = text_.find('"', end)) != std::string_view::npos; ++end) {
      const std::size_t last = text_.substr(begin, end - begin).find_last_not_of('\\');
      const std::size_t text_end = last == std::string_view::npos ? begin : begin + last + 1;
      if ((end - text_end) % 2 == 1) continue;  // an escaped quote
      at_ = end + 1;
      return true;
    }
    return false;
  }
  bool skip_value() {
    if (is_at('"')) return skip_string();
    if (is_at('{') || is_at('[')) return skip_nested();
    constexpr std::string_view kScalar =
        "0123456789+-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_not_of(kScalar, at_), text_.size());
    return at_ > begin;
  }
  bool skip_nested() {
    std::string open;  // brackets that are not closed yet
    while ((at_ = text_.find_first_of("\"{}[]", at_)) < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!skip_string()) return false;
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') {
        open += c == '{' ? '}' : ']';
        continue;
      }
      if (open.back() != c) return false;
      open.pop_back();
      if (open.empty()) return true;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

bool for_each_member(std::string_view object, const VisitMember& visit) {
  return Skimmer(object).object(visit);
}

}  // namespace smelt::text
