#include "distributed/all_gather_server.h"

#include <algorithm>

#include "base/number_format.h"
#include "base/str.h"

namespace smelt::distributed {
namespace {

std::string seconds_of(Clock::duration time) {
  return str(rounded(std::chrono::duration<double>(time).count(), 1), " s");
}

template <class Range, class Deadline>
std::optional<Clock::time_point> earliest(const Range& range, Deadline deadline) {
  std::optional<Clock::time_point> out;
  for (const auto& item : range)
    if (const auto at = deadline(item); at && (!out || *at < *out)) out = at;
  return out;
}

// Caps timeouts, because adding a very long one to `now` would overflow.
Clock::time_point deadline_of(std::chrono::milliseconds timeout, Clock::time_point now) {
  return now + std::clamp(timeout, std::chrono::milliseconds(0),
                          std::chrono::milliseconds(std::chrono::hours(24 * 365)));
}

}  // namespace

PodAnswer answer_to(std::vector<PodCall> to, CallStatus status,
                    const std::vector<std::string>& texts) {
  PayloadWriter out;
  out.number(static_cast<std::uint64_t>(status), 1);
  for (const std::string& text : texts) out.text(text);
  return {std::move(to), std::make_shared<const std::string>(out.take())};
}

std::optional<PodAnswer> AllGatherServer::add(PodCall from, const std::string& key,
                                              std::string payload,
                                              std::chrono::milliseconds timeout,
                                              Clock::time_point now) {
  auto [at, is_new] = gathers_.try_emplace(key);
  Gather& gather = at->second;
  const Clock::time_point deadline = deadline_of(timeout, now);
  if (is_new) {
    gather.began = now;
    gather.deadline = deadline;
    gather.timeout = timeout;
    gather.payloads.resize(static_cast<std::size_t>(size_));
  }
  auto& own = gather.payloads[static_cast<std::size_t>(from.rank)];
  if (own)
    return answer_to({from}, CallStatus::failed,
                     {str("pod: gather '", key, "': ", describe_(from.rank), " joined twice")});
  own = std::move(payload);
  const bool all =
      std::ranges::all_of(gather.payloads, [](const auto& p) { return p.has_value(); });
  if (!gather.failed.empty()) {
    PodAnswer answer = answer_to({from}, CallStatus::late, {gather.failed});
    if (all) gathers_.erase(at);
    return answer;
  }
  gather.calls.push_back(from);
  if (deadline < gather.deadline) {
    gather.deadline = deadline;
    gather.timeout = timeout;
  }
  if (!all) return {};
  PodAnswer answer = complete(key, gather);
  gathers_.erase(at);
  return answer;
}

PodAnswer AllGatherServer::complete(const std::string& key, Gather& gather) const {
  std::vector<std::string> texts;
  std::size_t bytes = 1;
  for (auto& payload : gather.payloads) {
    bytes += 4 + payload->size();
    texts.push_back(std::move(*payload));
  }
  if (bytes <= kMostPayload) return answer_to(gather.calls, CallStatus::good, texts);
  return answer_to(gather.calls, CallStatus::failed,
                   {str("pod: gather '", key, "': ", bytes, " bytes of all hosts are more than ",
                        kMostPayload)});
}

std::string AllGatherServer::missing(const Gather& gather) const {
  std::vector<std::string> names;
  for (int rank = 0; rank < size_; ++rank)
    if (!gather.payloads[static_cast<std::size_t>(rank)]) names.push_back(describe_(rank));
  constexpr std::size_t kMost = 8;
  const std::size_t more = names.size() > kMost ? names.size() - kMost : 0;
  names.resize(names.size() - more);
  return str(join(names, "; "), more > 0 ? str("; and ", more, " more") : "");
}

std::vector<PodAnswer> AllGatherServer::overdue(Clock::time_point now) {
  std::vector<PodAnswer> out;
  for (auto& [key, gather] : gathers_) {
    if (!gather.failed.empty() || now < gather.deadline) continue;
    gather.failed = str("pod: gather '", key, "': timed out after ", seconds_of(gather.timeout),
                        ", missing: ", missing(gather));
    out.push_back(answer_to(std::move(gather.calls), CallStatus::late, {gather.failed}));
    gather.calls.clear();
  }
  return out;
}

std::optional<Clock::time_point> AllGatherServer::next_deadline() const {
  return earliest(gathers_, [](const auto& item) {
    return item.second.failed.empty() ? std::optional(item.second.deadline) : std::nullopt;
  });
}

void AllGatherServer::postpone(Clock::duration time) {
  for (auto& [key, gather] : gathers_) gather.deadline += time;
}

bool AllGatherServer::waits_only_for_first(const Gather& gather) {
  return !gather.payloads.front() &&
         std::all_of(gather.payloads.begin() + 1, gather.payloads.end(),
                     [](const auto& payload) { return payload.has_value(); });
}

bool AllGatherServer::all_wait_for_first() const {
  return std::ranges::any_of(gathers_, [](const auto& one) {
    return one.second.failed.empty() && waits_only_for_first(one.second);
  });
}

std::vector<std::string> AllGatherServer::waiting(Clock::time_point now,
                                                  Clock::duration at_least) const {
  std::vector<std::string> out;
  for (const auto& [key, gather] : gathers_)
    if (gather.failed.empty() && now - gather.began >= at_least && !waits_only_for_first(gather))
      out.push_back(str("gather '", key, "' has waited ", seconds_of(now - gather.began), " for ",
                        missing(gather)));
  return out;
}

std::vector<PodAnswer> KeyValues::put(PodCall from, const std::string& key, std::string value) {
  const auto [at, is_new] = values_.try_emplace(key, std::move(value));
  if (!is_new) return {answer_to({from}, CallStatus::exists)};
  std::vector<PodCall> waited;
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.key == key) waited.push_back(waiting.call);
    return waiting.key == key;
  });
  std::vector<PodAnswer> out{answer_to({from}, CallStatus::good)};
  if (!waited.empty()) out.push_back(answer_to(std::move(waited), CallStatus::good, {at->second}));
  return out;
}

PodAnswer KeyValues::try_get(PodCall from, const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return answer_to({from}, CallStatus::missing);
  return answer_to({from}, CallStatus::good, {found->second});
}

std::optional<PodAnswer> KeyValues::get(PodCall from, const std::string& key,
                                        std::chrono::milliseconds timeout, Clock::time_point now) {
  if (values_.contains(key)) return try_get(from, key);
  waiting_.push_back({from, key, deadline_of(timeout, now)});
  return {};
}

std::vector<PodAnswer> KeyValues::overdue(Clock::time_point now) {
  std::vector<PodAnswer> out;
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    const bool late = now >= waiting.deadline;
    if (late) out.push_back(answer_to({waiting.call}, CallStatus::missing));
    return late;
  });
  return out;
}

std::optional<Clock::time_point> KeyValues::next_deadline() const {
  return earliest(waiting_, [](const Waiting& waiting) { return std::optional(waiting.deadline); });
}

void KeyValues::postpone(Clock::duration time) {
  for (Waiting& waiting : waiting_) waiting.deadline += time;
}

}  // namespace smelt::distributed
