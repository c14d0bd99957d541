// The coordination server, which runs on one thread of rank 0 and serves all processes of the pod.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "distributed/all_gather_server.h"
#include "distributed/connection.h"
#include "distributed/coordination_service.h"
#include "distributed/handshake.h"

namespace smelt::distributed {

class CoordinationServer {
 public:
  // Takes ownership of the listening socket. `own` is rank 0's handshake; those of the other ranks
  // must be compatible with it. `own.proof` is ignored.
  CoordinationServer(int listener, Handshake own, const PodOptions& options);
  ~CoordinationServer();
  CoordinationServer(const CoordinationServer&) = delete;
  CoordinationServer& operator=(const CoordinationServer&) = delete;

  // Returns the client end of the socket pair that connects rank 0 to its own server.
  int own_end() const { return own_end_; }

 private:
  // came: connected, but no handshake accepted. member: has a rank. left: has sent bye. gone: its
  // connection is closed.
  enum class Stage { came, member, left, gone };
  struct Peer {
    std::unique_ptr<Connection> connection;
    bool own = false;  // whether this is rank 0's connection
    Stage stage = Stage::came;
    std::string nonce;
    Handshake hello;
    Clock::time_point came, heard;
    std::string status;
    Clock::time_point since;  // when `status` began
  };

  void serve();
  void accept_all();
  void add(int socket);
  int wait();  // returns the poll() timeout in ms
  void poll_peers();
  void read(Peer& peer);
  void handle(Peer& peer, const Frame& frame);
  void handle_hello(Peer& peer, const Frame& frame);
  void handle_bye(Peer& peer, const Frame& frame);
  void welcome_all();
  void send_refusal(Peer& peer, FrameKind kind, const std::string& text, int exit_code);
  void answer(const PodAnswer& answer);
  void answer(const std::vector<PodAnswer>& answers);
  void drop(Peer& peer);
  void time_passes();
  void send_beats(Clock::time_point now);
  void find_dead(Clock::time_point now);
  void log_waiting(Clock::time_point now);
  void grant_own_sleep(Clock::time_point now);
  std::vector<int> absent_ranks() const;
  std::vector<std::string> standstill(Clock::time_point now) const;
  std::string described(int rank) const;  // name and current activity
  Peer*& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }
  const Peer* member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  // Sends the end of the run to all ranks but `except`, to rank 0 last, and stops the thread.
  void end(const std::string& text, int exit_code, int except = -1);
  void end_at(Peer& peer, const std::string& why);
  void flush_for(PodTimes::Span time);

  const int listener_;
  const Handshake own_;
  const PodTimes times_;
  const std::string secret_;
  int own_end_ = -1;
  int wake_ = -1;  // an eventfd
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> members_;  // by rank; includes those that have left
  AllGatherServer gathers_;
  KeyValues values_;
  bool begun_ = false, ended_ = false;
  std::string refused_;  // reason of the last rejected handshake
  // The reason why the run cannot begin. The server sends it once all ranks have joined, or after a
  // grace period for those that are still joining.
  struct Misfit {
    std::string text;
    Clock::time_point since;
  };
  std::optional<Misfit> misfit_;
  PodCall last_bye_{-1, 0};
  Clock::time_point began_, next_beat_, next_say_, woke_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace smelt::distributed
