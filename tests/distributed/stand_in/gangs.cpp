#include "distributed/stand_in/gangs.h"

#include <algorithm>

namespace smelt::stand_in {
namespace {

constexpr std::size_t kLaunchesInFlight = 32;

[[noreturn]] void refuse(const std::string& text) {
  throw Failed{{pjrt_abi::ErrorCode::unknown, text}};
}

// Has the error message of libtpu.
Fault unequal_launches(const Launch& leader, const Launch& peer) {
  return {pjrt_abi::ErrorCode::internal,
          str("Core halted unexpectedly: An unexpected peer shows up in the launch group with a "
              "different launch id than the current group leader: ",
              peer.number, " of program ", peer.program->fingerprint, ", not ", leader.number,
              " of program ", leader.program->fingerprint)};
}

}  // namespace

Fault fault_of(const pjrt::PjrtError& error) {
  const std::string_view text = error.what();
  const std::size_t colon = text.find(": ");  // the function's name precedes it
  return {error.code(), std::string(colon == text.npos ? text : text.substr(colon + 2))};
}

std::shared_ptr<Promise> Gangs::find(std::uint64_t promise) {
  const auto found = promises_.find(promise);
  if (found == promises_.end()) refuse("an array that is not there was used");
  return found->second;
}

// Waits until the promise is resolved.
std::shared_ptr<Promise> Gangs::resolved(std::unique_lock<std::mutex>& lock,
                                         std::uint64_t promise) {
  const std::uint64_t generation = generation_;
  const std::shared_ptr<Promise> found = find(promise);
  changed_.wait(lock, [&] { return found->resolved || generation_ != generation; });
  if (generation_ != generation) refuse("the pod began anew");
  if (found->fault) throw Failed{*found->fault};
  return found;
}

void Gangs::put(std::uint64_t value, pjrt::Buffer array) {
  const std::lock_guard lock(mutex_);
  promises_[value] = std::make_shared<Promise>(
      Promise{.resolved = true, .array = std::make_shared<const pjrt::Buffer>(std::move(array))});
}

void Gangs::launch(int process, Launch launch) {
  std::unique_lock lock(mutex_);
  const std::uint64_t generation = generation_;
  auto& queue = queues_[static_cast<std::size_t>(process)];
  changed_.wait(lock, [&] {
    return queue.size() < kLaunchesInFlight || broken_ || generation_ != generation;
  });
  if (generation_ != generation) refuse("the pod began anew");
  Taken taken{.launch = std::move(launch), .done = std::make_shared<Promise>()};
  promises_[taken.launch.done] = taken.done;
  for (const Launch::List& list : taken.launch.lists) {
    auto& arguments = taken.arguments.emplace_back();
    for (const std::uint64_t argument : list.arguments) arguments.push_back(find(argument));
    auto& results = taken.results.emplace_back();
    for (const std::uint64_t result : list.results)
      results.push_back(promises_[result] = std::make_shared<Promise>());
  }
  if (broken_)
    fail(taken, *broken_);
  else
    queue.push_back(std::move(taken));
  changed_.notify_all();
}

void Gangs::fail(Taken& taken, const Fault& fault) {
  const auto resolve = [&](Promise& promise) {
    promise.resolved = true;
    promise.fault = fault;
    for (const auto& copy : promise.copies) copy->fault = fault;
  };
  resolve(*taken.done);
  for (const auto& list : taken.results)
    for (const auto& result : list) resolve(*result);
}

void Gangs::fail_all(const Fault& fault) {
  broken_ = fault;
  for (auto& queue : queues_) {
    for (Taken& taken : queue) fail(taken, fault);
    queue.clear();
  }
  changed_.notify_all();
}

void Gangs::fail(const Fault& fault) {
  const std::lock_guard lock(mutex_);
  fail_all(fault);
}

void Gangs::begin_anew() {
  const std::lock_guard lock(mutex_);
  ++generation_;
  for (auto& queue : queues_) queue.clear();
  promises_.clear();
  copies_.clear();
  broken_.reset();
  changed_.notify_all();
}

// Returns the first launch in the queue of each process of a program, once each of these queues has
// one; otherwise returns an empty list.
std::vector<Gangs::Taken*> Gangs::next_gang() {
  for (auto& queue : queues_) {
    if (queue.empty()) continue;
    std::vector<Taken*> gang;
    const auto& processes = queue.front().launch.program->processes;
    for (const int process : processes)
      if (auto& peers = queues_[static_cast<std::size_t>(process)]; !peers.empty())
        gang.push_back(&peers.front());
    if (gang.size() == processes.size()) return gang;
  }
  return {};
}

void Gangs::begin(const Promise& promise, HostCopy& copy) {
  if (promise.array == nullptr)
    copy.fault = Fault{pjrt_abi::ErrorCode::unknown, "Buffer has been deleted or donated."};
  else
    try {
      copy.bytes.resize(promise.array->shape().size_bytes());
      copy.done.emplace(
          promise.array->start_copy_to_host(std::as_writable_bytes(std::span(copy.bytes))));
    } catch (const pjrt::PjrtError& error) {
      copy.fault = fault_of(error);
    }
}

// Executes the program with the real plugin, which takes the argument lists in ascending order of
// device ids and returns one list of results for each.
void Gangs::start(const std::vector<Taken*>& gang) {
  struct Place {
    Taken* taken;
    std::size_t list;
  };
  std::map<int, Place> places;
  for (Taken* taken : gang)
    for (std::size_t i = 0; i < taken->launch.lists.size(); ++i)
      places[taken->launch.lists[i].id] = {taken, i};
  std::vector<std::vector<const pjrt::Buffer*>> arguments;
  for (const auto& [id, place] : places) {
    auto& list = arguments.emplace_back();
    for (const auto& argument : place.taken->arguments[place.list]) {
      if (argument->fault) throw Failed{*argument->fault};
      if (argument->array == nullptr) refuse("a donated array was used");
      list.push_back(argument->array.get());
    }
  }
  const ServedProgram& program = *gang.front()->launch.program;
  const auto execution = std::make_shared<pjrt::Execution>(program.real.execute(arguments));
  std::size_t row = 0;
  for (const auto& [id, place] : places) {
    auto& results = place.taken->results[place.list];
    for (std::size_t i = 0; i < results.size(); ++i) {
      Promise& result = *results[i];
      result.array = std::make_shared<const pjrt::Buffer>(std::move(execution->results[row][i]));
      result.resolved = true;
      for (const auto& copy : result.copies) begin(result, *copy);
      result.copies.clear();
    }
    for (const std::int32_t donated : program.donated)
      place.taken->arguments[place.list][static_cast<std::size_t>(donated)]->array.reset();
    ++row;
  }
  for (Taken* taken : gang) {
    taken->done->execution = execution;
    taken->done->resolved = true;
  }
}

void Gangs::run(const std::vector<Taken*>& gang) {
  const Launch& leader = gang.front()->launch;
  for (const Taken* taken : gang) {
    const Launch& peer = taken->launch;
    if (peer.number != leader.number || peer.program->fingerprint != leader.program->fingerprint)
      return fail_all(unequal_launches(leader, peer));
  }
  const auto fail_gang = [&](const Fault& fault) {
    for (Taken* taken : gang) fail(*taken, fault);
  };
  try {
    start(gang);
  } catch (const pjrt::PjrtError& error) {
    fail_gang(fault_of(error));
  } catch (const Failed& failed) {
    fail_gang(failed.fault);
  }
  for (const int process : std::vector<int>(leader.program->processes))
    queues_[static_cast<std::size_t>(process)].pop_front();
}

void Gangs::dispatch() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const std::vector<Taken*> gang = next_gang();
    if (gang.empty()) {
      changed_.wait(lock);
      continue;
    }
    run(gang);
    changed_.notify_all();
  }
}

void Gangs::copy(std::uint64_t number, std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  const auto promise = find(value);
  auto& copy = copies_[number] = std::make_shared<HostCopy>();
  if (promise->fault)
    copy->fault = promise->fault;
  else if (promise->resolved)
    begin(*promise, *copy);
  else
    promise->copies.push_back(copy);
}

std::string Gangs::fetch(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  const std::uint64_t generation = generation_;
  const std::shared_ptr<HostCopy> copy = copies_.at(number);
  changed_.wait(lock, [&] { return copy->done || copy->fault || generation_ != generation; });
  lock.unlock();
  if (copy->fault) throw Failed{*copy->fault};
  if (!copy->done) refuse("the pod began anew");
  try {
    copy->done->await();
  } catch (const pjrt::PjrtError& error) {
    throw Failed{fault_of(error)};
  }
  drop_copy(number);
  return std::move(copy->bytes);
}

// Waits until the copy has ended: the real plugin may still write to its memory.
void Gangs::drop_copy(std::uint64_t number) {
  std::shared_ptr<HostCopy> copy;
  {
    const std::lock_guard lock(mutex_);
    const auto found = copies_.find(number);
    if (found == copies_.end()) return;
    copy = found->second;
    copies_.erase(found);
  }
  if (copy->done) try {
      copy->done->await();
    } catch (const pjrt::PjrtError&) {  // the values are no longer needed
    }
}

void Gangs::await(std::uint64_t promise) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Promise> found = resolved(lock, promise);
  const auto array = found->array;
  const auto execution = found->execution;
  lock.unlock();
  try {
    if (execution) execution->await();
    if (array) array->await();
  } catch (const pjrt::PjrtError& error) {
    throw Failed{fault_of(error)};
  }
}

bool Gangs::is_ready(std::uint64_t promise) {
  const std::lock_guard lock(mutex_);
  return find(promise)->resolved;
}

void Gangs::drop(const std::vector<std::uint64_t>& promises) {
  const std::lock_guard lock(mutex_);
  for (const std::uint64_t promise : promises) promises_.erase(promise);
}

}  // namespace smelt::stand_in
