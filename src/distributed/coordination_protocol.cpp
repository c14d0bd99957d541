// CoordinationServer's reactions to frames and to the passing of time.

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "distributed/coordination_server.h"

namespace smelt::distributed {
namespace {

constexpr int kUsage = 2;

std::string whole_seconds(Clock::duration time) {
  return str(std::chrono::duration_cast<std::chrono::seconds>(time).count(), " s");
}

std::chrono::milliseconds read_timeout(PayloadReader& in) {
  constexpr std::uint64_t kYear = std::uint64_t{365} * 24 * 3600 * 1000;
  return std::chrono::milliseconds(std::min(in.number(8), kYear));
}

}  // namespace

void CoordinationServer::handle(Peer& peer, const Frame& frame) {
  if (peer.stage == Stage::came) return handle_hello(peer, frame);
  const auto now = Clock::now();
  const PodCall from{peer.hello.rank, frame.call};
  PayloadReader in(frame.payload);
  const auto key = [&] { return in.text(); };
  switch (frame.kind) {
    case FrameKind::gather: {
      const std::string name = key();
      const auto timeout = read_timeout(in);
      if (auto done = gathers_.add(from, name, in.text(), timeout, now)) answer(*done);
      return;
    }
    case FrameKind::put: {
      const std::string name = key();
      return answer(values_.put(from, name, in.text()));
    }
    case FrameKind::get: {
      const std::string name = key();
      if (auto done = values_.get(from, name, read_timeout(in), now)) answer(*done);
      return;
    }
    case FrameKind::try_get:
      return answer(values_.try_get(from, key()));
    case FrameKind::beat:
      peer.status = in.text();
      peer.since = now - std::chrono::milliseconds(in.number(8));
      return;
    case FrameKind::abort: {
      const std::string text = in.text();
      return end(str("pod: ", name_of(peer.hello), " ends the run: ", text),
                 static_cast<int>(in.number(1)));
    }
    case FrameKind::bye:
      return handle_bye(peer, frame);
    default:
      throw SystemError(str("it sent a frame of kind ", static_cast<int>(frame.kind)));
  }
}

void CoordinationServer::send_refusal(Peer& peer, FrameKind kind, const std::string& text,
                                      int exit_code) {
  PayloadWriter payload;
  payload.text(text);
  if (kind == FrameKind::end) payload.number(static_cast<std::uint64_t>(exit_code), 1);
  peer.connection->queue({kind, 0, payload.take()});
  peer.connection->flush();
  drop(peer);
}

void CoordinationServer::handle_hello(Peer& peer, const Frame& frame) {
  if (frame.kind != FrameKind::hello) throw SystemError("no hello");
  const Handshake hello = parse_hello(frame.payload);
  const auto refusal = refusal_of(own_, proof_of(secret_, peer.nonce, hello.rank), hello);
  if (refusal) {
    log_warning("{}", refusal->text);
    refused_ = refusal->text;
    const bool has_place = refusal->of_ours && hello.rank >= 0 && hello.rank < own_.size;
    if (refusal->of_ours && !begun_ && !misfit_) misfit_ = {refusal->text, Clock::now()};
    if (!has_place || begun_) return send_refusal(peer, FrameKind::end, refusal->text, kUsage);
  }
  if (const Peer* there = member(hello.rank); there != nullptr || begun_) {
    refused_ = str("pod: ", name_of(hello), " has the same rank as ",
                   there != nullptr ? name_of(there->hello) : "a process that has left");
    log_warning("{}", refused_);
    return send_refusal(peer, FrameKind::taken, refused_, 0);
  }
  peer.hello = hello;
  peer.stage = Stage::member;
  member(hello.rank) = &peer;
  peer.connection->queue({FrameKind::beat});  // confirms that the server accepted the process
  peer.connection->flush();
  if (!absent_ranks().empty()) return;
  if (misfit_) return end(misfit_->text, kUsage);
  welcome_all();
}

void CoordinationServer::welcome_all() {
  begun_ = true;
  PayloadWriter names;
  for (const Peer* peer : members_)
    names.text(peer->hello.host).number(static_cast<std::uint64_t>(peer->hello.pid), 4);
  const auto frame =
      std::make_shared<const std::string>(encode(Frame{FrameKind::welcome, 0, names.take()}));
  for (Peer* peer : members_) {
    peer->since = Clock::now();
    peer->connection->queue(frame);
    peer->connection->flush();
  }
}

// Rank 0 gets its reply once all others have left, because the server ends with rank 0's process.
void CoordinationServer::handle_bye(Peer& peer, const Frame& frame) {
  peer.stage = Stage::left;
  const PodCall call{peer.hello.rank, frame.call};
  if (call.rank == 0)
    last_bye_ = call;
  else
    answer(answer_to({call}, CallStatus::good));
  const bool all = std::ranges::all_of(members_, [](const Peer* member) {
    return member == nullptr || member->stage == Stage::left;
  });
  if (all && last_bye_.rank == 0) answer(answer_to({last_bye_}, CallStatus::good));
}

std::vector<int> CoordinationServer::absent_ranks() const {
  std::vector<int> out;
  for (int rank = 0; rank < own_.size; ++rank)
    if (member(rank) == nullptr) out.push_back(rank);
  return out;
}

std::string CoordinationServer::described(int rank) const {
  const Peer* peer = member(rank);
  if (peer == nullptr) return str("host ", rank);
  if (peer->status.empty()) return name_of(peer->hello);
  return str(name_of(peer->hello), ", for ", whole_seconds(Clock::now() - peer->since), " at ",
             peer->status);
}

void CoordinationServer::time_passes() {
  if (ended_) return;
  const auto now = Clock::now();
  answer(gathers_.overdue(now));
  answer(values_.overdue(now));
  if (now >= next_beat_) send_beats(now);
  find_dead(now);
  if (!ended_ && now >= next_say_) log_waiting(now);
}

void CoordinationServer::send_beats(Clock::time_point now) {
  next_beat_ = now + times_.beat;
  const auto frame =
      std::make_shared<const std::string>(encode(Frame{FrameKind::beat, 0, std::string()}));
  for (const auto& peer : peers_) {
    if (peer->stage != Stage::member || peer->connection->has_queued()) continue;
    peer->connection->queue(frame);
    peer->connection->flush();
  }
}

void CoordinationServer::find_dead(Clock::time_point now) {
  for (const auto& peer : peers_) {
    if (peer->stage == Stage::came && now - peer->came > times_.hello) drop(*peer);
    if (peer->stage == Stage::member && now - peer->heard > times_.silence)
      return end_at(*peer, str("no heartbeat for ", whole_seconds(now - peer->heard)));
  }
  if (begun_) return;
  if (misfit_ && now - misfit_->since > times_.hello) return end(misfit_->text, kUsage);
  if (now - began_ < times_.connect) return;
  const auto missing = absent_ranks();
  end(str("pod: ", missing.size() == 1 ? "host " : "hosts ", join(missing, ", "), " of ", own_.size,
          missing.size() == 1 ? " has" : " have", " not joined within ",
          whole_seconds(times_.connect),
          refused_.empty() ? "" : str("; last rejected process: ", refused_)),
      1);
}

void CoordinationServer::log_waiting(Clock::time_point now) {
  next_say_ = now + times_.say;
  if (!begun_) {
    log_info("pod: waited {} for hosts {} of {}", whole_seconds(now - began_),
             join(absent_ranks(), ", "), own_.size);
    return;
  }
  for (const std::string& text : gathers_.waiting(now, times_.say)) log_warning("pod: {}", text);
  for (const std::string& text : standstill(now)) log_warning("pod: {}", text);
}

// Returns a message if no rank has changed its activity for `times_.say` and the activities differ.
// The ranks whose activity is the rarest probably block the others, so they are named one by one.
std::vector<std::string> CoordinationServer::standstill(Clock::time_point now) const {
  if (gathers_.all_wait_for_first()) return {};
  std::map<std::string, std::vector<int>> by_status;
  for (int rank = 0; rank < own_.size; ++rank) {
    const Peer* peer = member(rank);
    if (peer == nullptr || peer->stage != Stage::member) continue;
    if (peer->status.empty() || now - peer->since < times_.say) return {};
    by_status[peer->status].push_back(rank);
  }
  if (by_status.size() < 2) return {};
  std::size_t most = 0;
  for (const auto& [status, ranks] : by_status) most = std::max(most, ranks.size());
  std::vector<std::string> out;
  for (const auto& [status, ranks] : by_status) {
    if (ranks.size() == most && most > 1) {
      out.push_back(str(counted(ranks.size(), "host"), " at ", status));
      continue;
    }
    for (const int rank : ranks) out.push_back(described(rank));
  }
  return {str("no host makes progress: ", join(out, "; "))};
}

}  // namespace smelt::distributed
