#include "io/credentials/refusal.h"

#include "base/str.h"

namespace smelt::io {
namespace {

// Returns " --project=N" of Google's sentence "… has not been used in project N before …", or "" if
// it names none.
std::string project_flag(std::string_view message) {
  constexpr std::string_view kBefore = " in project ";
  const std::size_t at = message.find(kBefore);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = message.substr(at + kBefore.size());
  const std::string_view project =
      rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-:."));
  return project.empty() ? "" : str(" --project=", project);
}

}  // namespace

std::optional<std::string> refusal_hint(std::string_view message, std::string_view api) {
  const auto says = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  if (says("requester pays"))
    return "smelt does not support requester-pays buckets: copy the files that you need with "
           "'gcloud storage cp --billing-project=PROJECT'";
  if (says("billing account"))
    return "gcloud billing projects link PROJECT --billing-account=ACCOUNT, for the project that "
           "owns it";
  if (says("has not been used in project"))
    return str("gcloud services enable ", api, ".googleapis.com", project_flag(message));
  if (says("organization's policy"))
    return "ask your organization's administrator: its VPC Service Controls deny access from this "
           "machine";
  return std::nullopt;
}

}  // namespace smelt::io
