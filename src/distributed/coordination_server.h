// Rank 0's side: one thread that answers all processes.
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

namespace smelt {

class HubServer {
 public:
  // Takes the listening socket. `own` is rank 0's hello, which all others' must fit; its proof is
  // not looked at.
  HubServer(int listener, Handshake own, const PodOptions& options);
  ~HubServer();
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  // Rank 0's own end of a pair of sockets.
  int own_end() const { return own_end_; }

 private:
  enum class Stage { came, member, left, gone };
  struct Peer {
    std::unique_ptr<Connection> connection;
    bool own = false;  // rank 0's
    Stage stage = Stage::came;
    std::string nonce;
    Handshake hello;
    Clock::time_point came, heard;
    std::string doing;
    Clock::time_point since;  // it does so
  };

  void serve();
  void accept_all();
  void add(int socket);
  int wait();  // ms until something is due
  void poll_peers();
  void read(Peer& peer);
  void handle(Peer& peer, const Frame& frame);
  void handle_hello(Peer& peer, const Frame& frame);
  void handle_bye(Peer& peer, const Frame& frame);
  void welcome_all();
  void say_no(Peer& peer, FrameKind kind, const std::string& text, int exit_code);
  void answer(const PodAnswer& answer);
  void answer(const std::vector<PodAnswer>& answers);
  void drop(Peer& peer);
  void time_passes();
  void send_beats(Clock::time_point now);
  void find_dead(Clock::time_point now);
  void say_waiting(Clock::time_point now);
  void grant_own_sleep(Clock::time_point now);
  std::vector<int> not_here() const;
  std::vector<std::string> standstill(Clock::time_point now) const;
  std::string described(int rank) const;  // with what it does
  Peer*& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }
  const Peer* member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  // Tells all, rank 0 last, and ends the thread's work.
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
  std::vector<Peer*> members_;  // by rank, also those that have left
  AllGatherServer gathers_;
  KeyValues values_;
  bool begun_ = false, ended_ = false;
  std::string refused_;  // the last hello that was
  // Why the run cannot begin: told when all have come, or those who are about to have had the time.
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

}  // namespace smelt
