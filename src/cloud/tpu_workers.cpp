// Requests to the TPU API about an existing node.
#include "base/error.h"
#include "cloud/tpu_api.h"
#include "cloud/tpu_fault.h"
#include "io/credentials/json_text.h"

namespace smelt::cloud {

std::optional<std::string> TpuApi::begin_on(const std::string& zone, const std::string& node,
                                            const char* verb) {
  return operation_of(
      api_.call({.method = "POST",
                 .service = "tpu",
                 .path = in_zone(zone, str("/nodes/", io::percent_encoded(node), ":", verb)),
                 .body = Json::object()}),
      str("node ", node, " in ", zone));
}

TpuApi::Begun TpuApi::set_metadata(const std::string& zone, const std::string& node,
                                   const std::map<std::string, std::string>& metadata) {
  const ApiAnswer answer = api_.call({.method = "PATCH",
                                      .service = "tpu",
                                      .path = in_zone(zone, "/nodes/" + io::percent_encoded(node)),
                                      .query = {{"updateMask", "metadata"}},
                                      .body = {{"metadata", metadata}},
                                      .repeat = io::Repeat::safe});
  return {io::text_in(answer.body, "name"), answer.fault};
}

std::vector<std::map<std::string, std::string>> TpuApi::guest_attributes(const std::string& zone,
                                                                         const std::string& node,
                                                                         const std::string& path) {
  const ApiAnswer answer = api_.call(
      {.method = "POST",
       .service = "tpu",
       .path = in_zone(zone, str("/nodes/", io::percent_encoded(node), ":getGuestAttributes")),
       .body = {{"queryPath", path}},
       .repeat = io::Repeat::safe});
  std::vector<std::map<std::string, std::string>> out;
  for (const Json& worker : io::array_in(answer.body, "guestAttributes")) {
    auto& found = out.emplace_back();
    for (const Json& item : io::array_in(io::object_in(worker, "queryValue"), "items"))
      found[io::text_in(item, "key")] = io::text_in(item, "value");
  }
  return out;
}

}  // namespace smelt::cloud
