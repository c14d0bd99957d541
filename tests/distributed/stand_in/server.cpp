// pod_server SOCKET PROCESSES DEVICES_EACH [--platform cpu|tpu] [--layout tray|row]
//            [--on-death hang|fail:SECONDS]
// Serves the shims of a pod's processes with the real CPU plugin. Only the server loads this
// plugin, which simulates the devices of all processes. Runs until a signal ends it.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <thread>

#include "base/parallel.h"
#include "distributed/stand_in/sessions.h"
#include "pjrt/find_plugin.h"

namespace smelt::stand_in {
namespace {

compiler::DType dtype_of(pjrt_abi::ElementType type) {
  for (const compiler::DType dtype :
       {compiler::DType::pred, compiler::DType::s8, compiler::DType::s32, compiler::DType::s64,
        compiler::DType::u8, compiler::DType::u16, compiler::DType::u32, compiler::DType::u64,
        compiler::DType::bf16, compiler::DType::f16, compiler::DType::f32, compiler::DType::f64})
    if (pjrt::element_type(dtype) == type) return dtype;
  throw Failed{
      {pjrt_abi::ErrorCode::unimplemented, "an element type that the stand-in does not know"}};
}

// Returns whether the other side has closed the connection and has sent nothing that is unread.
bool is_gone(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

struct ServerOptions {
  std::string socket, platform = "cpu";
  PodLayout layout;
  int fail_after = -1;
};

class Server {
 public:
  explicit Server(ServerOptions options)
      : options_(std::move(options)),
        client_(
            pjrt::Client::create(pjrt::Plugin::load(pjrt::find_plugin("cpu")),
                                 {{"cpu_device_count", std::int64_t{options_.layout.devices()}}})),
        programs_(client_, options_.layout, options_.platform),
        gangs_(options_.layout.processes),
        sessions_(options_.layout, gangs_, options_.fail_after) {
    std::thread([this] { gangs_.dispatch(); }).detach();
  }

  void serve(int socket);

 private:
  struct Account {
    int socket = -1;
    int started_as = -1;
    std::uint64_t generation = 0;
    bool is_life = false, said_bye = false;
  };
  std::string hello(Unpacker& in, Account& who);
  std::string answer(Op op, Unpacker& in, Account& who);
  std::string answer_of_program(Op op, Unpacker& in, const Account& who);
  std::string answer_of_array(Op op, Unpacker& in, const Account& who);
  std::string keep(std::shared_ptr<const ServedProgram> program, const Account& who);
  std::shared_ptr<const ServedProgram> program(std::uint64_t number);
  void execute(Unpacker& in, const Account& who);

  ServerOptions options_;
  std::shared_ptr<const pjrt::Client> client_;
  Programs programs_;
  Gangs gangs_;
  Sessions sessions_;
  std::mutex mutex_;
  std::uint64_t last_program_ = 0;
  std::map<std::uint64_t, std::shared_ptr<const ServedProgram>> kept_;
};

std::string Server::hello(Unpacker& in, Account& who) {
  who.started_as = in.take<std::int32_t>();
  const auto processes = in.take<std::int32_t>();
  who.generation = sessions_.come(who.started_as, processes, [&] { return is_gone(who.socket); });
  who.is_life = true;
  const PodLayout& layout = options_.layout;
  std::vector<std::int32_t> process_of;
  for (int id = 0; id < layout.devices(); ++id) process_of.push_back(layout.process_of(id));
  return Packer()
      .add(who.generation)
      .add(std::int32_t{layout.index_of(who.started_as)})
      .list(process_of)
      .text(options_.platform)
      .text(client_->platform_version())
      .take();
}

std::string Server::keep(std::shared_ptr<const ServedProgram> program, const Account& who) {
  ProgramFacts facts = program->facts(options_.layout, options_.layout.index_of(who.started_as));
  const std::lock_guard lock(mutex_);
  facts.number = ++last_program_;
  kept_[facts.number] = std::move(program);
  Packer out;
  facts.pack(out);
  return out.take();
}

std::shared_ptr<const ServedProgram> Server::program(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return kept_.at(number);
}

std::string Server::answer_of_program(Op op, Unpacker& in, const Account& who) {
  if (op == Op::compile) {
    const std::string module(in.text()), options(in.text());
    return keep(programs_.compile(module, options), who);
  }
  if (op == Op::load) return keep(programs_.load(in.text()), who);
  const auto number = in.take<std::uint64_t>();
  if (op == Op::drop_program) {
    const std::lock_guard lock(mutex_);
    kept_.erase(number);
    return "";
  }
  const auto found = program(number);
  const pjrt::CompiledProgram& made = found->real.program();
  if (op == Op::serialize) return Programs::serialize(*found);
  if (op == Op::optimized) return made.optimized_module();
  Packer out;
  if (op == Op::memory) return out.add(made.memory()).take();
  const auto cost = made.cost();
  out.add(std::uint64_t{cost.size()});
  for (const auto& [name, value] : cost) out.text(name).add(static_cast<float>(value));
  return out.take();
}

void Server::execute(Unpacker& in, const Account& who) {
  Launch launch{.program = program(in.take<std::uint64_t>())};
  launch.number = in.take<std::int32_t>();
  launch.done = in.take<std::uint64_t>();
  launch.lists.resize(in.take<std::uint64_t>());
  for (Launch::List& list : launch.lists) {
    list.id = in.take<std::int32_t>();
    list.arguments = in.list<std::uint64_t>();
    list.results = in.list<std::uint64_t>();
  }
  gangs_.launch(options_.layout.index_of(who.started_as), std::move(launch));
}

std::string Server::answer_of_array(Op op, Unpacker& in, const Account& who) {
  if (op == Op::execute) return execute(in, who), "";
  if (op == Op::drop_value) return gangs_.drop(in.list<std::uint64_t>()), "";
  const auto number = in.take<std::uint64_t>();
  if (op == Op::fetch) return gangs_.fetch(number);
  if (op == Op::drop_copy) return gangs_.drop_copy(number), "";
  if (op == Op::copy) return gangs_.copy(number, in.take<std::uint64_t>()), "";
  if (op == Op::await) return gangs_.await(number), "";
  if (op == Op::ready) return Packer().add(gangs_.is_ready(number)).take();
  const auto id = in.take<std::int32_t>();
  const compiler::DType dtype = dtype_of(in.take<pjrt_abi::ElementType>());
  const compiler::Shape shape{.dtype = dtype, .dims = in.list<std::int64_t>()};
  const std::string_view bytes = in.text();
  pjrt::Buffer buffer = client_->to_device(std::as_bytes(std::span(bytes)), shape, id);
  gangs_.put(number, std::move(buffer));
  return "";
}

std::string Server::answer(Op op, Unpacker& in, Account& who) {
  if (op == Op::hello) return hello(in, who);
  if (op == Op::attach) {
    who.started_as = in.take<std::int32_t>();
    who.generation = in.take<std::uint64_t>();
  }
  sessions_.require(who.generation);
  if (op == Op::attach) return "";
  if (op == Op::bye) return who.said_bye = true, "";
  return op <= Op::drop_program ? answer_of_program(op, in, who) : answer_of_array(op, in, who);
}

void Server::serve(int socket) {
  Account who{.socket = socket};
  while (const auto request = receive_frame(socket)) {
    Unpacker in(*request);
    const auto op = in.take<Op>();
    Packer out;
    Fault fault;
    std::string answered;
    try {
      answered = answer(op, in, who);
    } catch (const Failed& failed) {
      fault = failed.fault;
    } catch (const pjrt::PjrtError& error) {
      fault = fault_of(error);
    } catch (const std::exception& error) {
      fault = {pjrt_abi::ErrorCode::unknown, error.what()};
    }
    if (!is_answered(op)) continue;
    out.add(fault.code);
    if (fault.code == pjrt_abi::ErrorCode::ok)
      out.text(answered);
    else
      out.text(fault.text);
    if (!send_frame(socket, out.take())) break;
  }
  ::close(socket);
  if (who.is_life) sessions_.go(who.started_as, who.generation, who.said_bye);
}

int listening(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path, path, " is too long for a socket");
  path.copy(address.sun_path, path.size());
  ::unlink(path.c_str());
  CHECK(::bind(socket, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) == 0, path);
  CHECK(::listen(socket, 64) == 0);
  return socket;
}

ServerOptions options_of(const std::vector<std::string>& words) {
  CHECK(words.size() >= 3, "pod_server SOCKET PROCESSES DEVICES_EACH");
  ServerOptions out{
      .socket = words[0],
      .layout = {.processes = std::stoi(words[1]), .devices_each = std::stoi(words[2])}};
  for (std::size_t i = 3; i + 1 < words.size(); i += 2) {
    const std::string &name = words[i], &value = words[i + 1];
    if (name == "--platform") out.platform = value;
    if (name == "--layout") out.layout.in_rows = value == "row";
    if (name == "--on-death" && value.starts_with("fail:"))
      out.fail_after = std::stoi(value.substr(5));
  }
  return out;
}

void run(const std::vector<std::string>& words) {
  const ServerOptions options = options_of(words);
  const int wanted = available_threads() + 2 * options.layout.devices();
  ::setenv("NPROC", str(wanted).c_str(), 1);  // enough threads of the plugin for all devices
  Server server(options);
  const int socket = listening(options.socket);
  for (;;) {
    const int accepted = ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted >= 0) std::thread([&server, accepted] { server.serve(accepted); }).detach();
  }
}

}  // namespace
}  // namespace smelt::stand_in

int main(int count, char** words) try {
  smelt::stand_in::run({words + 1, words + count});
} catch (const std::exception& error) {
  std::cerr << "pod_server: " << error.what() << "\n";
  return 1;
}
