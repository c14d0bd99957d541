// Sends and receives frames over a non-blocking socket.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/frame.h"

namespace smelt::distributed {

// A connection to another process. Not thread-safe.
class Connection {
 public:
  explicit Connection(int socket);  // takes ownership
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  // Appends a frame to the send queue; flush() sends the queue in order.
  void queue(const Frame& frame) { queue(std::make_shared<const std::string>(encode(frame))); }
  void queue(std::shared_ptr<const std::string> bytes) { out_.push_back(std::move(bytes)); }
  bool has_queued() const { return !out_.empty(); }
  // Returns the poll() events to wait for.
  short events() const;

  // Sends as much of the queue as the socket accepts without blocking. Returns false if the
  // connection is lost; why() then returns the reason.
  bool flush();
  // Appends the complete frames that have arrived. Returns false if the connection is lost or the
  // peer sent an invalid frame or a payload of more than `most_payload` bytes; frames received
  // before that are still appended.
  bool read(std::vector<Frame>& frames, std::size_t most_payload = kMostPayload);
  const std::string& why() const { return why_; }

 private:
  bool take_frames(std::vector<Frame>& frames, std::size_t most_payload);
  bool gone(std::string why);

  int socket_;
  std::deque<std::shared_ptr<const std::string>> out_;
  std::size_t sent_ = 0;  // bytes of out_.front() that are sent
  std::string in_;
  std::string why_;
};

}  // namespace smelt::distributed
