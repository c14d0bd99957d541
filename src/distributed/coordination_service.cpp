#include "distributed/coordination_service.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "distributed/connection.h"
#include "distributed/coordination_server.h"
#include "distributed/handshake.h"
#include "distributed/join.h"
#include "distributed/socket.h"

namespace smelt::distributed {
namespace {

struct PodReply {
  CallStatus status;
  std::vector<std::string> texts;
};

PodReply parse_reply(const std::string& payload) {
  PayloadReader in(payload);
  PodReply out{static_cast<CallStatus>(in.number(1)), {}};
  while (!in.done()) out.texts.push_back(in.text());
  return out;
}

}  // namespace

void leave_at_once(const PodEnd& end) {
  log_error("{}", end.text);
  flush_log();
  ::_exit(end.exit_code);
}

// One thread reads and writes the connection; callers queue requests and wait for the replies.
struct CoordinationService::State {
  State(Handshake hello, PodOptions chosen) : own(std::move(hello)), options(std::move(chosen)) {}
  ~State();
  void begin(Joined joined);
  PodReply call(FrameKind kind, std::string payload);
  std::future<PodReply> send_call(FrameKind kind, std::string payload);
  void send(FrameKind kind, std::string payload);
  void wake() const;
  void work(const std::vector<Frame>& first);
  bool exchange(std::vector<Frame>& frames);
  void handle(const Frame& frame);
  void beat_if_due(Clock::time_point now);
  void finish(PodEnd end);
  std::string hub_is_gone(const std::string& why) const;

  const Handshake own;
  const PodOptions options;
  std::vector<Handshake> members;
  std::unique_ptr<CoordinationServer> server;  // only on rank 0; outlives the connection
  std::mutex mutex;                            // guards the members below
  std::condition_variable ended;
  std::unique_ptr<Connection> connection;
  std::map<std::uint64_t, std::promise<PodReply>> pending;
  std::uint64_t last_call = 0;
  std::string status;
  Clock::time_point since, next_beat, heard;
  std::optional<PodEnd> end;
  bool leaving = false;  // bye() was called, so the end of the run is expected
  bool closed = false;
  int wake_event = -1;
  std::thread thread;
};

void CoordinationService::State::begin(Joined joined) {
  members = std::move(joined.members);
  connection = std::move(joined.connection);
  wake_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  since = next_beat = heard = Clock::now();
  thread = std::thread([this, first = std::move(joined.frames)] { work(first); });
}

CoordinationService::State::~State() {
  if (!thread.joinable()) return;
  {
    const std::lock_guard lock(mutex);
    closed = true;
  }
  wake();
  thread.join();
  ::close(wake_event);
}

void CoordinationService::State::wake() const {
  const std::uint64_t one = 1;
  if (::write(wake_event, &one, sizeof one) < 0)
    return;  // the counter is full, so the thread wakes up anyway
}

std::string CoordinationService::State::hub_is_gone(const std::string& why) const {
  return str("pod: ", smelt::distributed::name_of(members[0]), " is gone: ", why);
}

void CoordinationService::State::work(const std::vector<Frame>& first) {
  for (const Frame& frame : first) handle(frame);
  auto woke = Clock::now();
  while (true) {
    std::array<pollfd, 2> waits{pollfd{connection->socket(), POLLIN, 0},
                                pollfd{wake_event, POLLIN, 0}};
    {
      const std::lock_guard lock(mutex);
      if (closed || end) break;
      waits[0].events = connection->events();
    }
    ::poll(waits.data(), waits.size(), static_cast<int>(options.times.beat.count()));
    const auto now = Clock::now();
    // A suspended process could not receive heartbeats.
    if (const auto slept = now - woke; slept > options.times.silence / 4) heard += slept;
    woke = now;
    std::uint64_t count = 0;
    if (waits[1].revents & POLLIN && ::read(wake_event, &count, sizeof count) < 0) count = 0;
    std::vector<Frame> frames;
    const bool is_open = exchange(frames);
    if (!frames.empty()) heard = now;
    for (const Frame& frame : frames) handle(frame);
    if (!is_open) finish({hub_is_gone(connection->why())});
    if (now - heard > options.times.silence)
      finish({hub_is_gone(str("no heartbeat for ",
                              std::chrono::duration_cast<std::chrono::seconds>(now - heard).count(),
                              " s"))});
  }
  const std::lock_guard lock(mutex);
  connection->flush();
}

bool CoordinationService::State::exchange(std::vector<Frame>& frames) {
  const std::lock_guard lock(mutex);
  beat_if_due(Clock::now());
  const bool is_open = connection->read(frames);
  return connection->flush() && is_open;
}

void CoordinationService::State::beat_if_due(Clock::time_point now) {
  if (now < next_beat || connection->has_queued()) return;
  next_beat = now + options.times.beat;
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - since).count();
  connection->queue(
      {FrameKind::beat, 0,
       PayloadWriter().text(status).number(static_cast<std::uint64_t>(age), 8).take()});
}

void CoordinationService::State::handle(const Frame& frame) {
  if (frame.kind == FrameKind::end) {
    PayloadReader in(frame.payload);
    std::string text = in.text();
    return finish({std::move(text), static_cast<int>(in.number(1))});
  }
  if (frame.kind != FrameKind::answer) return;
  const std::lock_guard lock(mutex);
  const auto found = pending.find(frame.call);
  if (found == pending.end()) return;
  found->second.set_value(parse_reply(frame.payload));
  pending.erase(found);
}

void CoordinationService::State::finish(PodEnd why) {
  std::map<std::uint64_t, std::promise<PodReply>> waiting;
  bool is_news = false;
  {
    const std::lock_guard lock(mutex);
    if (end) return;
    is_news = !leaving && !closed;
    end = why;
    waiting.swap(pending);
  }
  if (is_news) options.on_end(why);
  for (auto& [call, promise] : waiting)
    promise.set_exception(std::make_exception_ptr(SystemError(why.text)));
  ended.notify_all();
}

std::future<PodReply> CoordinationService::State::send_call(FrameKind kind, std::string payload) {
  if (payload.size() > kMostPayload)
    throw SystemError(
        str("pod: ", payload.size(), " bytes exceed the limit of a message, ", kMostPayload));
  const std::lock_guard lock(mutex);
  if (end) throw SystemError(end->text);
  const std::uint64_t call = ++last_call;
  auto future = pending[call].get_future();
  connection->queue({kind, call, std::move(payload)});
  wake();
  return future;
}

PodReply CoordinationService::State::call(FrameKind kind, std::string payload) {
  PodReply reply = send_call(kind, std::move(payload)).get();
  if (reply.status == CallStatus::failed) throw SystemError(reply.texts.at(0));
  if (reply.status == CallStatus::late) throw LostPeer(reply.texts.at(0));
  return reply;
}

std::unique_ptr<CoordinationService> CoordinationService::connect(const PodPlace& place,
                                                                  const PodFields& fields,
                                                                  const PodOptions& options) {
  if (place.rank < 0 || place.rank >= place.size)
    throw UsageError(str("pod: rank ", place.rank, " is not one of 0 to ", place.size - 1),
                     "number the processes from 0");
  auto state = std::make_unique<State>(hello_of(place, fields), options);
  if (place.rank == 0) {
    const int listener = listen_at(parse_host_port("--hub", place.address));
    state->server = std::make_unique<CoordinationServer>(listener, state->own, options);
    state->begin(join_over(state->server->own_end(), state->own, state->options));
  } else {
    state->begin(join_at(place.address, state->own, state->options));
  }
  return std::unique_ptr<CoordinationService>(new CoordinationService(std::move(state)));
}

CoordinationService::CoordinationService(std::unique_ptr<State> state) : state_(std::move(state)) {}
CoordinationService::~CoordinationService() = default;

int CoordinationService::rank() const { return state_->own.rank; }
int CoordinationService::size() const { return state_->own.size; }
const PodTimes& CoordinationService::times() const { return state_->options.times; }
std::string CoordinationService::name_of(int rank) const {
  return smelt::distributed::name_of(state_->members.at(static_cast<std::size_t>(rank)));
}

std::vector<std::string> CoordinationService::gather(std::string_view key, std::string_view payload,
                                                     PodTimes::Span timeout) {
  PayloadWriter out;
  out.text(key).number(static_cast<std::uint64_t>(timeout.count()), 8).text(payload);
  return state_->call(FrameKind::gather, out.take()).texts;
}

std::string CoordinationService::broadcast(std::string_view key, std::string_view payload,
                                           PodTimes::Span timeout, int from) {
  auto all = gather(key, rank() == from ? payload : std::string_view(), timeout);
  return std::move(all.at(static_cast<std::size_t>(from)));
}

void CoordinationService::require_equal(std::string_view key, std::string_view what,
                                        std::string_view value, PodTimes::Span timeout,
                                        std::string_view hint) {
  const auto all = gather(key, value, timeout);
  const auto other = std::ranges::find_if(all, [&](const auto& one) { return one != all[0]; });
  if (other == all.end()) return;
  const int rank = static_cast<int>(other - all.begin());
  throw UsageError(str("pod: ", what, " must be equal on all hosts: ", all[0], " on ", name_of(0),
                       ", ", *other, " on ", name_of(rank)),
                   hint);
}

bool CoordinationService::put(std::string_view key, std::string_view value) {
  return state_->call(FrameKind::put, PayloadWriter().text(key).text(value).take()).status ==
         CallStatus::good;
}

std::optional<std::string> CoordinationService::get(std::string_view key, PodTimes::Span timeout) {
  PayloadWriter out;
  out.text(key).number(static_cast<std::uint64_t>(timeout.count()), 8);
  PodReply reply = state_->call(FrameKind::get, out.take());
  if (reply.status != CallStatus::good) return {};
  return std::move(reply.texts.at(0));
}

std::optional<std::string> CoordinationService::try_get(std::string_view key) {
  PodReply reply = state_->call(FrameKind::try_get, PayloadWriter().text(key).take());
  if (reply.status != CallStatus::good) return {};
  return std::move(reply.texts.at(0));
}

void CoordinationService::beat(std::string_view status) {
  const std::lock_guard lock(state_->mutex);
  state_->status = status;
  state_->since = Clock::now();
}

void CoordinationService::abort(std::string_view text, int exit_code) {
  std::unique_lock lock(state_->mutex);
  if (state_->end) return;
  state_->leaving = true;
  state_->connection->queue(
      {FrameKind::abort, 0,
       PayloadWriter().text(text).number(static_cast<std::uint64_t>(exit_code), 1).take()});
  state_->wake();
  state_->ended.wait_for(lock, 2 * state_->options.times.notify,
                         [&] { return state_->end.has_value(); });
}

void CoordinationService::bye() {
  std::future<PodReply> gone;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->end || state_->leaving) return;
    state_->leaving = true;
  }
  try {
    gone = state_->send_call(FrameKind::bye, {});
    if (gone.wait_for(state_->options.times.exit) == std::future_status::ready)
      gone.get();
    else
      log_warning("pod: not all hosts have ended");
  } catch (const SystemError& error) {
    log_warning("{}", error.what());
  }
}

}  // namespace smelt::distributed
