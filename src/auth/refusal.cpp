#include "auth/refusal.h"

#include "base/str.h"

namespace smelt {

std::optional<std::string> refusal_hint(std::string_view message, std::string_view api) {
  const auto says = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  if (says("requester pays"))
    return "smelt does not pay for reading such a bucket: copy what you need with "
           "'gcloud storage cp --billing-project=PROJECT'";
  if (says("billing account"))
    return "gcloud billing projects link PROJECT --billing-account=ACCOUNT, for the project that "
           "owns it";
  if (says("has not been used in project"))
    return str("gcloud services enable ", api, ".googleapis.com");
  if (says("organization's policy"))
    return "ask your organization's administrator: its VPC Service Controls refuse this machine";
  return std::nullopt;
}

}  // namespace smelt
