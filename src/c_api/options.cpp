#include "c_api/options.h"

#include <smelt.h>

#include <atomic>
#include <new>

#include "base/error.h"

struct smelt_stop {
  std::atomic<bool> raised = false;
};

namespace smelt::c_api {
namespace {

constexpr const char* kOptionsHint = "see docs/reference/c-api.md for the options";

}  // namespace

Options::Options(const char* json, std::string where, std::initializer_list<const char*> known)
    : where_(std::move(where)),
      all_(json == nullptr ? Json::object() : Json::parse_or_discard(json)) {
  if (!all_.is_object())
    throw UsageError(str(where_, ": the options are not a JSON object: '", json, "'"),
                     "pass for example {\"max_length\": 128}");
  const std::vector<std::string> names(known.begin(), known.end());
  io::JsonField(all_, where_, kOptionsHint).check_members("option", names);
}

io::JsonField Options::field(const char* name) const {
  return io::JsonField(all_, where_, kOptionsHint)[name];
}

bool Options::flag(const char* name) const { return flag_if_set(name).value_or(false); }

std::optional<bool> Options::flag_if_set(const char* name) const { return field(name).as_switch(); }

std::string Options::text(const char* name, std::string otherwise) const {
  return field(name).as<std::string>(std::move(otherwise));
}

std::int64_t Options::number(const char* name, std::int64_t otherwise, std::int64_t least) const {
  return field(name).as_integer(otherwise, least);
}

std::vector<std::string> Options::texts(const char* name) const { return field(name).as_texts(); }

std::vector<std::int64_t> Options::numbers(const char* name) const {
  return field(name).as<std::vector<std::int64_t>>({});
}

void check_pointer(const void* pointer, std::string_view name) {
  if (pointer == nullptr)
    throw UsageError(str(name, " is NULL"), str("pass a valid pointer as ", name));
}

void check_stop(const smelt_stop* stop) {
  if (stop != nullptr && stop->raised.load(std::memory_order_relaxed))
    throw Stopped("the call was stopped", "call it again");
}

}  // namespace smelt::c_api

smelt_stop* smelt_stop_new(void) { return new (std::nothrow) smelt_stop; }

void smelt_stop_raise(smelt_stop* stop) {
  if (stop != nullptr) stop->raised = true;
}

void smelt_stop_free(smelt_stop* stop) { delete stop; }
