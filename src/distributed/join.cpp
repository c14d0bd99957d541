#include "distributed/join.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "distributed/socket.h"

namespace smelt::distributed {
namespace {

// Result of a handshake.
struct HandshakeState {
  enum class Kind { welcome, taken, end, closed } kind = Kind::closed;
  std::string text = {};
  int exit_code = 0;
  std::vector<Handshake> members = {};
  bool accepted = false;          // the server has accepted this process
  std::vector<Frame> later = {};  // frames that arrived together with the welcome, after it
};

HandshakeState read_welcome(const std::string& payload, int size) {
  HandshakeState out{.kind = HandshakeState::Kind::welcome};
  PayloadReader in(payload);
  for (int rank = 0; rank < size; ++rank) {
    Handshake member;
    member.rank = rank;
    member.size = size;
    member.host = in.text();
    member.pid = static_cast<int>(in.number(4));
    out.members.push_back(std::move(member));
  }
  return out;
}

std::optional<HandshakeState> handle(const Frame& frame, Connection& connection, Handshake& own,
                                     const PodOptions& options) {
  PayloadReader in(frame.payload);
  switch (frame.kind) {
    case FrameKind::hail:
      own.proof = proof_of(options.secret, in.text(), own.rank);
      connection.queue({FrameKind::hello, 0, encode(own)});
      return {};
    case FrameKind::welcome:
      return read_welcome(frame.payload, own.size);
    case FrameKind::taken:
      return HandshakeState{.kind = HandshakeState::Kind::taken, .text = in.text()};
    case FrameKind::end: {
      HandshakeState out{.kind = HandshakeState::Kind::end, .text = in.text()};
      out.exit_code = static_cast<int>(in.number(1));
      return out;
    }
    default:
      return {};
  }
}

// Returns once the server has welcomed or rejected this process, or has sent nothing for `silence`.
// While it waits for other ranks it sends heartbeats, so that the server does not consider it dead.
HandshakeState shake_hands(Connection& connection, Handshake own, const PodOptions& options) {
  auto heard = Clock::now();
  auto next_beat = heard;
  bool accepted = false;
  const auto closed = [&](const std::string& why) {
    return HandshakeState{.kind = HandshakeState::Kind::closed, .text = why, .accepted = accepted};
  };
  while (Clock::now() - heard < options.times.silence) {
    pollfd waits{connection.socket(), connection.events(), 0};
    if (::poll(&waits, 1, static_cast<int>(options.times.beat.count())) <= 0) continue;
    std::vector<Frame> frames;
    const bool is_open = connection.read(frames);
    if (!frames.empty()) heard = Clock::now();
    for (auto frame = frames.begin(); frame != frames.end(); ++frame) {
      accepted = accepted || frame->kind == FrameKind::beat;
      if (auto done = handle(*frame, connection, own, options)) {
        done->accepted = accepted;
        done->later.assign(frame + 1, frames.end());
        return std::move(*done);
      }
    }
    if (accepted && Clock::now() >= next_beat) {
      next_beat = Clock::now() + options.times.beat;
      connection.queue({FrameKind::beat, 0, PayloadWriter().text("").number(0, 8).take()});
    }
    if (!is_open || !connection.flush()) return closed(connection.why());
  }
  return closed("it does not respond");
}

[[noreturn]] void end_before(const HandshakeState& end, const PodOptions& options) {
  constexpr int kUsage = 2;
  if (end.exit_code == kUsage) throw UsageError(end.text);
  if (end.exit_code == kPodExit) options.on_end({end.text, end.exit_code});
  throw SystemError(end.text);
}

// Retries joining until the server accepts or the timeout passes.
class Attempts {
 public:
  Attempts(const HostPort& hub, const Handshake& own, const PodOptions& options)
      : hub_(hub), own_(own), options_(options), next_say_(began_ + options.times.say) {}

  // Returns nullopt if the attempt failed and another one may succeed.
  std::optional<Joined> attempt() {
    const int socket = try_connect(hub_, why_);
    if (socket < 0) return {};
    set_up_socket(socket, static_cast<int>(options_.times.silence.count()));
    auto connection = std::make_unique<Connection>(socket);
    HandshakeState hands = shake_hands(*connection, own_, options_);
    if (hands.kind == HandshakeState::Kind::welcome)
      return Joined{std::move(connection), std::move(hands.members), std::move(hands.later)};
    // If the server ends the run with kPodExit before it accepts this process, it is the server of
    // an earlier run.
    const bool of_its_run = hands.accepted || hands.exit_code != kPodExit;
    if (hands.kind == HandshakeState::Kind::end && of_its_run) end_before(hands, options_);
    if (hands.kind == HandshakeState::Kind::closed && hands.accepted)
      end_before({.text = str("pod: host 0 at ", text_of(hub_), " is gone: ", hands.text),
                  .exit_code = kPodExit},
                 options_);
    if (hands.kind == HandshakeState::Kind::taken) wait_for_place(hands.text);
    why_ = hands.text;
    if (hands.kind == HandshakeState::Kind::end) last_end_ = hands.text;
    return {};
  }

  void wait() {
    const auto now = Clock::now();
    if (now - began_ > options_.times.connect)
      throw SystemError(
          str("pod: ", name_of(own_), " has not reached host 0 at ", text_of(hub_), ": ", why_,
              last_end_.empty() || last_end_ == why_
                  ? ""
                  : str("; an earlier attempt ended with: ", last_end_)),
          "start the run on every host, and open this port between them");
    if (now >= next_say_) {
      next_say_ = now + options_.times.say;
      log_info("pod: host {} waits for host 0 at {}: {}", own_.rank, text_of(hub_), why_);
    }
    std::this_thread::sleep_for(now - began_ < std::chrono::seconds(5)
                                    ? std::chrono::milliseconds(100)
                                    : std::chrono::milliseconds(1000));
  }

 private:
  void wait_for_place(const std::string& text) {
    const auto now = Clock::now();
    if (!taken_) {
      taken_ = now;
      log_warning("{}", text);
    }
    if (now - *taken_ > options_.times.taken)
      throw UsageError(text, "give each process a different rank, or end the other process");
  }

  const HostPort hub_;
  const Handshake own_;
  const PodOptions& options_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point next_say_;
  std::optional<Clock::time_point> taken_;  // since when another process has this rank
  std::string why_, last_end_;
};

}  // namespace

Joined join_over(int socket, const Handshake& own, const PodOptions& options) {
  auto connection = std::make_unique<Connection>(socket);
  HandshakeState hands = shake_hands(*connection, own, options);
  if (hands.kind == HandshakeState::Kind::end) end_before(hands, options);
  if (hands.kind != HandshakeState::Kind::welcome)
    throw SystemError(str("pod: host 0: ", hands.text));
  return {std::move(connection), std::move(hands.members), std::move(hands.later)};
}

Joined join_at(const std::string& address, const Handshake& own, const PodOptions& options) {
  Attempts attempts(parse_host_port("--hub", address), own, options);
  while (true) {
    if (auto joined = attempts.attempt()) return std::move(*joined);
    attempts.wait();
  }
}

}  // namespace smelt::distributed
