// Requests to the TPU API's queue.
#include "base/error.h"
#include "cloud/tpu_api.h"
#include "cloud/tpu_fault.h"
#include "io/credentials/json_text.h"

namespace smelt::cloud {
namespace {

// Returns the error message of a queued resource. Each state has its own field for it.
std::string fault_of(const Json& state) {
  for (const char* data : {"failedData", "suspendedData"})
    if (const std::string said =
            io::text_in(io::object_in(io::object_in(state, data), "error"), "message");
        !said.empty())
      return said;
  return {};
}

TpuQueued parse_queued(const Json& item) {
  const std::string name = io::text_in(item, "name");
  const Json state = io::object_in(item, "state");
  TpuQueued out;
  out.name = io::last_part(name);
  out.zone = io::zone_in(name);
  out.state = io::text_in(state, "state");
  out.create_time = io::text_in(item, "createTime");
  out.fault = fault_of(state);
  out.is_spot = item.is_object() && item.contains("spot");
  for (const Json& spec : io::array_in(io::object_in(item, "tpu"), "nodeSpec")) {
    out.accelerator_type = io::text_in(io::object_in(spec, "node"), "acceleratorType");
    out.node = io::text_in(spec, "nodeId");
  }
  return out;
}

}  // namespace

Json queued_body(const std::string& project, const std::string& zone, const std::string& name,
                 const NodeSpec& spec, const QueueSpec& queue) {
  const std::string parent = str("projects/", project, "/locations/", zone);
  NodeSpec of_node = spec;
  of_node.spot = false;  // set for the whole request instead
  Json body{
      {"tpu",
       {{"nodeSpec",
         Json::array({{{"parent", parent}, {"nodeId", name}, {"node", node_body(of_node)}}})}}}};
  if (spec.spot) body["spot"] = Json::object();
  if (spec.reserved) body["guaranteed"] = Json::object();
  if (!queue.reservation.empty())
    body["reservationName"] = str(parent, "/reservations/", queue.reservation);
  if (queue.valid_for.count() > 0)
    body["queueingPolicy"] = {{"validUntilDuration", str(queue.valid_for.count(), "s")}};
  return body;
}

TpuList<TpuQueued> TpuApi::queued(const std::string& zone) {
  const auto found = in_zones(zone, "queuedResources", str("the queue of project ", project_));
  TpuList<TpuQueued> out{{}, found.unreachable};
  for (const Json& item : found.items) out.items.push_back(parse_queued(item));
  return out;
}

std::optional<TpuQueued> TpuApi::queued_one(const std::string& zone, const std::string& name) {
  const auto there = unless_missing(
      api_.call({.service = "tpu",
                 .path = in_zone(zone, "/queuedResources/" + io::percent_encoded(name))}),
      str("queued resource ", name, " in ", zone));
  return there ? std::optional(parse_queued(*there)) : std::nullopt;
}

TpuApi::Begun TpuApi::enqueue(const std::string& zone, const std::string& name,
                              const NodeSpec& spec, const QueueSpec& queue) {
  require_name(name);
  const ApiAnswer answer = api_.call({.method = "POST",
                                      .service = "tpu",
                                      .path = in_zone(zone, "/queuedResources"),
                                      .query = {{"queuedResourceId", name}},
                                      .body = queued_body(project_, zone, name, spec, queue)});
  return {io::text_in(answer.body, "name"), answer.fault};
}

std::optional<std::string> TpuApi::dequeue(const std::string& zone, const std::string& name) {
  return operation_of(
      api_.call({.method = "DELETE",
                 .service = "tpu",
                 .path = in_zone(zone, "/queuedResources/" + io::percent_encoded(name)),
                 .query = {{"force", "true"}}}),
      str("queued resource ", name, " in ", zone));
}

}  // namespace smelt::cloud
