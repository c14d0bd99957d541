#include "distributed/coordination_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "distributed/socket.h"

namespace smelt::distributed {

CoordinationServer::CoordinationServer(int listener, Handshake own, const PodOptions& options)
    : listener_(listener),
      own_(std::move(own)),
      times_(options.times),
      secret_(options.secret),
      members_(static_cast<std::size_t>(own_.size)),
      gathers_(own_.size, [this](int rank) { return described(rank); }) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    throw SystemError(str("pod: cannot create a pair of sockets: ", std::strerror(errno)));
  own_end_ = pair[0];
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  began_ = woke_ = Clock::now();
  next_beat_ = began_ + times_.beat;
  next_say_ = began_ + times_.say;
  add(pair[1]);
  peers_.front()->own = true;
  thread_ = std::thread([this] { serve(); });
}

CoordinationServer::~CoordinationServer() {
  stop_ = true;
  const std::uint64_t one = 1;
  if (::write(wake_, &one, sizeof one) < 0) log_debug("pod: the hub's thread is not woken");
  thread_.join();
  ::close(wake_);
  ::close(listener_);
}

void CoordinationServer::serve() {
  while (!stop_ && !ended_) {
    poll_peers();
    time_passes();
    std::erase_if(peers_, [](const auto& peer) { return peer->stage == Stage::gone; });
  }
  flush_for(times_.notify);
}

void CoordinationServer::poll_peers() {
  std::vector<pollfd> waits{{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
  for (const auto& peer : peers_)
    waits.push_back({peer->connection->socket(), peer->connection->events(), 0});
  const std::size_t count = peers_.size();
  const int ready = ::poll(waits.data(), waits.size(), wait());
  grant_own_sleep(Clock::now());
  if (ready <= 0) return;
  for (std::size_t i = 0; i < count && !ended_; ++i) {
    const short happened = waits[i + 2].revents;
    if (peers_[i]->stage == Stage::gone) continue;
    if (happened & (POLLIN | POLLHUP | POLLERR)) read(*peers_[i]);
    if (happened & POLLOUT) peers_[i]->connection->flush();  // an error also shows up when reading
  }
  if (waits[0].revents & POLLIN && !ended_) accept_all();
}

// Extends all deadlines if this process was suspended, because it could not receive heartbeats
// then.
void CoordinationServer::grant_own_sleep(Clock::time_point now) {
  const auto slept = now - woke_;
  woke_ = now;
  if (slept < times_.silence / 4) return;
  for (const auto& peer : peers_) peer->heard += slept;
  gathers_.postpone(slept);
  values_.postpone(slept);
}

int CoordinationServer::wait() {
  const auto now = woke_ = Clock::now();
  auto next = std::min(next_beat_, next_say_);
  for (const auto& due : {gathers_.next_deadline(), values_.next_deadline()})
    if (due) next = std::min(next, *due);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void CoordinationServer::accept_all() {
  const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) return;
  set_up_socket(socket, static_cast<int>(times_.silence.count()));
  add(socket);
}

void CoordinationServer::add(int socket) {
  auto peer = std::make_unique<Peer>();
  peer->connection = std::make_unique<Connection>(socket);
  peer->nonce = new_nonce();
  peer->came = peer->heard = peer->since = Clock::now();
  peer->connection->queue({FrameKind::hail, 0, PayloadWriter().text(peer->nonce).take()});
  peer->connection->flush();
  peers_.push_back(std::move(peer));
}

void CoordinationServer::read(Peer& peer) {
  constexpr std::size_t kMostHello = std::size_t{1} << 16;
  std::vector<Frame> frames;
  const bool is_open =
      peer.connection->read(frames, peer.stage == Stage::came ? kMostHello : kMostPayload);
  peer.heard = Clock::now();
  for (const Frame& frame : frames) {
    if (ended_ || peer.stage == Stage::gone) return;
    try {
      handle(peer, frame);
    } catch (const Error& error) {
      return end_at(peer, error.what());
    }
  }
  if (!is_open && !ended_) end_at(peer, peer.connection->why());
}

// Drops a peer whose connection failed. If it was a member of the pod, ends the run on all other
// ranks.
void CoordinationServer::end_at(Peer& peer, const std::string& why) {
  if (peer.stage == Stage::member && !stop_) {
    const std::string at = peer.status.empty() ? "" : str(" at ", peer.status);
    end(str("pod: ", name_of(peer.hello), " is gone", at, ": ", why), kPodExit, peer.hello.rank);
  }
  drop(peer);
}

void CoordinationServer::drop(Peer& peer) {
  if (peer.stage == Stage::member || peer.stage == Stage::left) member(peer.hello.rank) = nullptr;
  peer.stage = Stage::gone;
}

void CoordinationServer::answer(const PodAnswer& answer) {
  for (const PodCall& to : answer.to) {
    Peer* peer = member(to.rank);
    if (peer == nullptr) continue;
    peer->connection->queue(std::make_shared<const std::string>(
        frame_header(FrameKind::answer, to.call, answer.payload->size())));
    peer->connection->queue(answer.payload);
    peer->connection->flush();
  }
}

void CoordinationServer::answer(const std::vector<PodAnswer>& answers) {
  for (const PodAnswer& one : answers) answer(one);
}

void CoordinationServer::flush_for(PodTimes::Span time) {
  const auto until = Clock::now() + time;
  while (true) {
    std::vector<pollfd> waits;
    for (const auto& peer : peers_)
      if (peer->stage != Stage::gone && peer->connection->has_queued() &&
          peer->connection->flush() && peer->connection->has_queued())
        waits.push_back({peer->connection->socket(), POLLOUT, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (waits.empty() || left <= 0) return;
    ::poll(waits.data(), waits.size(), static_cast<int>(left));
  }
}

void CoordinationServer::end(const std::string& text, int exit_code, int except) {
  ended_ = true;
  const std::string payload =
      PayloadWriter().text(text).number(static_cast<std::uint64_t>(exit_code), 1).take();
  const auto tell = [&](bool own) {
    for (const auto& peer : peers_) {
      const bool known =
          own || peer->stage == Stage::member || (peer->stage == Stage::came && secret_.empty());
      if (peer->own == own && known && peer->stage != Stage::gone &&
          (peer->stage == Stage::came || peer->hello.rank != except))
        peer->connection->queue({FrameKind::end, 0, payload});
    }
    flush_for(times_.notify);
  };
  tell(false);  // the other ranks first, because rank 0's process exits when it is notified
  tell(true);
}

}  // namespace smelt::distributed
