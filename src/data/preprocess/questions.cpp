#include "data/preprocess/questions.h"

#include "base/error.h"
#include "base/json.h"
#include "base/plural.h"

namespace smelt::data {
namespace {

[[noreturn]] void throw_no_answers(const std::string& label, const std::string& place) {
  throw UsageError(str(place, ": '", shortened(label, 60), "' is not a list of answers"),
                   "write [{\"text\": \"…\", \"answer_start\": 12}], or [] for none");
}

// Returns the byte offset of a code point; npos beyond the end.
std::size_t byte_of(std::string_view utf8, std::int64_t count) {
  std::size_t at = 0;
  for (; count > 0 && at < utf8.size(); --count) {
    ++at;
    while (at < utf8.size() && (static_cast<unsigned char>(utf8[at]) & 0xC0U) == 0x80) ++at;
  }
  return count == 0 ? at : std::string_view::npos;
}

RightAnswer right_answer(const Json& text, const Json& start, std::string_view context,
                         const std::string& label, const std::string& place) {
  if (!text.is_string() || !start.is_number_integer() || start.get<std::int64_t>() < 0)
    throw_no_answers(label, place);
  RightAnswer out{.text = text.get<std::string>()};
  out.begin = byte_of(context, start.get<std::int64_t>());
  out.in_place = out.begin != std::string_view::npos && !out.text.empty() &&
                 context.substr(out.begin).starts_with(out.text);
  out.end = out.in_place ? out.begin + out.text.size() : out.begin;
  return out;
}

}  // namespace

std::vector<RightAnswer> right_answers(const std::string& label, std::string_view context,
                                       const std::string& place) {
  const Json all = Json::parse_or_discard(label);
  std::vector<RightAnswer> out;
  const auto take = [&](const Json& text, const Json& start) {
    out.push_back(right_answer(text, start, context, label, place));
  };
  if (all.is_array()) {
    for (const Json& one : all) {
      if (!one.is_object()) throw_no_answers(label, place);
      take(one.value("text", Json()), one.value("answer_start", Json()));
    }
    return out;
  }
  const Json texts = all.is_object() ? all.value("text", Json()) : Json();
  const Json starts = all.is_object() ? all.value("answer_start", Json()) : Json();
  if (!texts.is_array() || !starts.is_array() || texts.size() != starts.size())
    throw_no_answers(label, place);
  for (std::size_t i = 0; i < texts.size(); ++i) take(texts[i], starts[i]);
  return out;
}

}  // namespace smelt::data
