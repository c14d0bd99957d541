// Frames over a socket that never blocks.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/frame.h"

namespace smelt {

// One thread at a time.
class Connection {
 public:
  explicit Connection(int socket);  // which it owns from now on
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  // Sent by flush(), in order.
  void queue(const Frame& frame) { queue(std::make_shared<const std::string>(encode(frame))); }
  void queue(std::shared_ptr<const std::string> bytes) { out_.push_back(std::move(bytes)); }
  bool has_queued() const { return !out_.empty(); }
  // The events that poll() is asked for.
  short events() const;

  // Sends what the socket takes now. false: the connection is gone, why() says how.
  bool flush();
  // Appends the frames that have come. false: as above, or what came is no frame of at most
  // `most_payload` bytes; frames that were whole before are appended still.
  bool read(std::vector<Frame>& frames, std::size_t most_payload = kMostPayload);
  const std::string& why() const { return why_; }

 private:
  bool take_frames(std::vector<Frame>& frames, std::size_t most_payload);
  bool gone(std::string why);

  int socket_;
  std::deque<std::shared_ptr<const std::string>> out_;
  std::size_t sent_ = 0;  // of the first of out_
  std::string in_;
  std::string why_;
};

}  // namespace smelt
