// Requests to the TPU API about an existing node.
#include "base/error.h"
#include "cloud/tpu_api.h"
#include "cloud/tpu_fault.h"
#include "io/credentials/json_text.h"

namespace smelt {

std::optional<std::string> TpuApi::begin_on(const std::string& zone, const std::string& node,
                                            const char* verb) {
  return operation_of(
      api_.call({.method = "POST",
                 .service = "tpu",
                 .path = in_zone(zone, str("/nodes/", percent_encoded(node), ":", verb)),
                 .body = Json::object()}),
      str("node ", node, " in ", zone));
}

TpuApi::Begun TpuApi::set_metadata(const std::string& zone, const std::string& node,
                                   const std::map<std::string, std::string>& metadata) {
  const ApiAnswer answer = api_.call({.method = "PATCH",
                                      .service = "tpu",
                                      .path = in_zone(zone, "/nodes/" + percent_encoded(node)),
                                      .query = {{"updateMask", "metadata"}},
                                      .body = {{"metadata", metadata}},
                                      .repeat = Repeat::safe});
  return {text_in(answer.body, "name"), answer.fault};
}

std::vector<std::map<std::string, std::string>> TpuApi::guest_attributes(const std::string& zone,
                                                                         const std::string& node,
                                                                         const std::string& path) {
  const ApiAnswer answer = api_.call(
      {.method = "POST",
       .service = "tpu",
       .path = in_zone(zone, str("/nodes/", percent_encoded(node), ":getGuestAttributes")),
       .body = {{"queryPath", path}},
       .repeat = Repeat::safe});
  std::vector<std::map<std::string, std::string>> out;
  for (const Json& worker : array_in(answer.body, "guestAttributes")) {
    auto& found = out.emplace_back();
    for (const Json& item : array_in(object_in(worker, "queryValue"), "items"))
      found[text_in(item, "key")] = text_in(item, "value");
  }
  return out;
}

}  // namespace smelt
