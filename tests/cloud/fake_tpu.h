// Google's TPU API v2 with the state that it has: nodes, queued resources, operations, quota and
// capacity of each zone. Google's own client drives it, too (tests/cloud/drive_fake_tpu.py).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "support/http_server.h"

namespace smelt::cloud {

class FakeTpu {
 public:
  struct Zone {
    std::vector<std::string> types{"v2-8", "v3-8"};
    std::vector<std::string> versions{"tpu-ubuntu2204-base", "tpu-vm-base"};
    int capacity = 100;  // nodes
    bool answers = true;
    bool queue_moves = true;
  };
  FakeTpu();

  std::map<std::string, Zone> zones;
  int quota = 100;                        // nodes of the project in a zone, lost ones among them
  int polls = 2;                          // until an operation is done
  std::size_t page = 2;                   // items on a page, whatever is asked for
  std::deque<ServedAnswer> faults;        // instead of the next answers
  std::deque<ServedAnswer> lost_answers;  // of the next POSTs
  bool obeys_lost = true;                 // what they asked for is done all the same
  // Nodes come up, and go, without their operation being looked at, at so many looks at them.
  bool completes_unasked = false;
  int node_looks = 1;
  int hidden_looks = 0;         // at a new node until it is shown
  bool lists_all_zones = true;  // at "-"
  int queue_looks = 2;          // at what is in the queue until its turn comes
  std::string queue_fault;      // why it fails then
  double seconds = 1795455602;  // since 1970: when nodes are made, and a time in the queue is over
  // Habits of the real servers.
  double out_until = 0;               // by `seconds`; until then no request is answered
  double addresses_after = 0;         // seconds that a node is READY before it shows its addresses
  std::deque<Json> operation_errors;  // of the operations of the next nodes, none of which is made
  std::deque<ServedAnswer> change_faults;  // instead of the next answers to a change of metadata
  bool requires_quota_project = false;     // of each request
  // Of the workers of each node: internal and external.
  std::vector<std::pair<std::string, std::string>> addresses{{"10.0.0.2", "1.2.3.4"}};
  std::function<void(const Json& metadata)> on_metadata;      // as the guest agent of each worker
  std::vector<std::map<std::string, std::string>> host_keys;  // of each worker; none: not allowed

  ServedAnswer serve(const ServedRequest& request);
  // As Google does it: the node stays and keeps its quota, and what queued for it is suspended.
  void preempt(const std::string& name);
  // It is gone, as when somebody else has deleted it.
  void vanish(const std::string& name);
  // Of a node that a queued resource of this name has made.
  void rename_node(const std::string& queued, const std::string& node);
  // What is being made or deleted, "zone/name", is so now, looked at or not.
  void finish(const std::string& name);
  Json node(const std::string& name) const { return nodes_.at(full(name)); }
  // Of all nodes, by "zone/name"; how many stand in the queue.
  std::map<std::string, std::string> states() const;
  std::size_t queue_length() const { return queued_.size(); }

 private:
  struct Operation {
    Json body;
    std::string node;  // that it makes or deletes
    bool deletes = false;
    int left = 0;
    std::optional<Json> error;
  };

  ServedAnswer route(const ServedRequest& request, const std::vector<std::string>& parts);
  ServedAnswer nodes(const ServedRequest& request, const std::string& zone);
  ServedAnswer queue(const ServedRequest& request, const std::string& zone);
  ServedAnswer one(const ServedRequest& request, std::map<std::string, Json>& all,
                   const std::string& name);
  ServedAnswer verb(const ServedRequest& request, const std::string& name);
  static std::string full(const std::string& name);
  void complete(const std::string& name);
  void become_ready(Json& node);
  // Shows the addresses of a node if it is time.
  void show_addresses(Json& node);
  // Its turn comes nearer.
  void advance(Json& queued);
  void suspend_queue_of(const std::string& node);
  ServedAnswer create(const Json& body, const std::string& zone, const std::string& id);
  ServedAnswer poll(const std::string& name);
  ServedAnswer page_of(const char* field, const std::vector<Json>& items, const std::string& query,
                       const std::vector<std::string>& unreachable = {}) const;
  Json begin(const std::string& zone, const std::string& node, bool deletes,
             std::optional<Json> error = {});
  Json endpoints() const;
  std::string now() const;
  int count_in(const std::string& zone) const;

  std::map<std::string, Json> nodes_, queued_;  // by full name
  std::map<std::string, Operation> operations_;
  bool is_hidden(const std::string& name) const;

  std::map<std::string, int> looks_, hidden_;
  std::map<std::string, double> ends_;      // of what is in the queue
  std::map<std::string, double> ready_at_;  // of nodes, by `seconds`
  int made_ = 0;
};

}  // namespace smelt::cloud
