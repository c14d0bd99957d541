// TPU machines by Google's TPU API, v2 (cloud.google.com/tpu/docs/reference/rest/v2): nodes, queued
// resources, and what a zone has.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cloud/google_api.h"

namespace smelt {

// All zones, where a list is asked for.
inline constexpr const char* kAllZones = "-";

struct TpuNode {
  std::string name, zone;        // "a", "us-central1-b"
  std::string accelerator_type;  // "v3-8"
  std::string runtime_version;
  std::string state;  // "READY"; may be one that is not known here
  std::string health;
  std::string create_time;                      // RFC 3339
  std::string queued_resource;                  // that made it; ""
  bool is_spot = false;                         // or preemptible: it may be taken away
  std::vector<std::string> addresses;           // of each worker, inside its network
  std::vector<std::string> external_addresses;  // "" for a worker that has none
  std::map<std::string, std::string> labels, metadata;

  // It is there no more to be used and only keeps its quota until it is deleted.
  bool is_lost() const { return state == "PREEMPTED" || state == "TERMINATED"; }
};

// Seconds since 1970; 0 where its time is none.
double created_at(const TpuNode& node);

struct TpuQueued {
  std::string name, zone;
  std::string state;  // "WAITING_FOR_RESOURCES"
  std::string accelerator_type;
  std::string create_time;
  std::string node;   // that it makes
  std::string fault;  // why it failed; ""
  bool is_spot = false;

  // Nothing comes of it any more; it stays until it is deleted.
  bool is_lost() const {
    return state == "FAILED" || state == "SUSPENDING" || state == "SUSPENDED";
  }
};

struct NodeSpec {
  std::string accelerator_type, runtime_version;
  bool spot = false;
  std::string network = {}, subnetwork = {};  // "" = the project's default
  bool external_ips = true;
  std::string service_account = {};  // "" = the project's default
  std::map<std::string, std::string> labels = {}, metadata = {};
  bool reserved = false;  // of what the project has reserved
};

// How a node is waited for in the queue.
struct QueueSpec {
  std::string reservation = {};       // its name; "" = none
  std::chrono::seconds valid_for{0};  // given up after it; 0 = never
};

// As the API takes it, with none of the fields that are left to its defaults.
Json node_body(const NodeSpec& spec);
Json queued_body(const std::string& project, const std::string& zone, const std::string& name,
                 const NodeSpec& spec, const QueueSpec& queue);
// Of a node in an answer; fields that are missing are empty.
TpuNode parse_node(const Json& node);

// UsageError "cloud: …" for a name that Google refuses: it takes 1 to 63 of a-z, 0-9 and '-', the
// first a letter, the last none of '-'.
void require_name(const std::string& name);

// UsageError "cloud: …" for what has not the form of one zone's name, us-central1-a.
void require_zone(const std::string& zone);
std::string region_of(const std::string& zone);  // "us-central1" of "us-central1-b"
// The items of a list with commas, each once, in its order. They are not checked.
std::vector<std::string> split_zones(const std::string& list);

// What is asked of a list: the items, and zones that did not answer.
template <class Item>
struct TpuList {
  std::vector<Item> items;
  std::vector<std::string> unreachable;
};

// Refusals are thrown (throw_fault) but where a function says otherwise. For one thread at a time.
// UsageError for a zone that is not among those with TPUs.
void require_known(const std::string& zone, const std::vector<std::string>& known);

class TpuApi {
 public:
  TpuApi(GoogleApi& api, std::string project) : api_(api), project_(std::move(project)) {}

  // Sorted.
  std::vector<std::string> zones();
  void require_zones(const std::vector<std::string>& asked);  // all known
  std::vector<std::string> accelerator_types(const std::string& zone);
  std::vector<std::string> runtime_versions(const std::string& zone);
  TpuList<TpuNode> nodes(const std::string& zone);
  TpuList<TpuQueued> queued(const std::string& zone);
  std::optional<TpuNode> node(const std::string& zone, const std::string& name);

  // What was begun, an operation; a refusal is returned, for some are to be tried elsewhere. It is
  // sent once: after an error look for the node, which may have been made.
  struct Begun {
    std::string operation;
    std::optional<ApiFault> fault;
  };
  Begun create(const std::string& zone, const std::string& name, const NodeSpec& spec);
  // One of the same name in the queue, that makes the node when its turn comes. As create().
  Begun enqueue(const std::string& zone, const std::string& name, const NodeSpec& spec,
                const QueueSpec& queue);
  std::optional<TpuQueued> queued_one(const std::string& zone, const std::string& name);
  // With its node. Nothing when there is none.
  std::optional<std::string> dequeue(const std::string& zone, const std::string& name);
  // "start" or "stop"; nothing when there is no such node.
  std::optional<std::string> begin_on(const std::string& zone, const std::string& node,
                                      const char* verb);
  // All of a node's own metadata, in place of what it has. A refusal is returned: another change
  // may be under way.
  Begun set_metadata(const std::string& zone, const std::string& node,
                     const std::map<std::string, std::string>& metadata);
  // What its workers say of themselves below `path`, as "hostkeys/"; of each worker in turn. None
  // where the project does not allow that to be asked.
  std::vector<std::map<std::string, std::string>> guest_attributes(const std::string& zone,
                                                                   const std::string& node,
                                                                   const std::string& path);
  // Nothing when there is no such node.
  std::optional<std::string> remove(const std::string& zone, const std::string& name);
  // Whether the operation has ended; with a fault where it failed. One that Google knows no more,
  // as after a while, has.
  struct Progress {
    bool done = false;
    std::optional<ApiFault> fault = {};
  };
  Progress progress(const std::string& operation);

 private:
  // Nothing where the API knows no such thing; SystemError or UsageError for another refusal.
  std::optional<Json> unless_missing(const ApiAnswer& answer, const std::string& what) const;
  std::optional<std::string> operation_of(const ApiAnswer& answer, const std::string& what) const;
  std::string in_zone(const std::string& zone, std::string_view what) const;
  // All pages of the list in `field`; unreachable zones are added. Where `is_unknown` is given it
  // becomes true, and nothing is thrown, for a list that the API does not have.
  Json list(const std::string& path, const char* field, const std::string& what,
            std::vector<std::string>* unreachable = nullptr, bool* is_unknown = nullptr);

  // Of a zone or all.
  TpuList<Json> in_zones(const std::string& zone, const char* field, const std::string& what);

  GoogleApi& api_;
  std::string project_;
};

}  // namespace smelt
