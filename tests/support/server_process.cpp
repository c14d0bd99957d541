#include "support/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "io/filesystem/file.h"

namespace smelt {
namespace {

::sockaddr_in loopback(int port) {
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool accepts(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const ::sockaddr_in address = loopback(port);
  const bool connected =
      ::connect(fd, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return connected;
}

[[noreturn]] void execute(std::vector<std::string> command, const std::string& log) {
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, 1);
  ::dup2(out, 2);
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

// The socket stays bound so that no other process gets the port before the server does. With
// SO_REUSEADDR, a server may bind a port that is bound but not listening.
int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  CHECK(::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
  ::sockaddr_in address = loopback(0);
  ::socklen_t size = sizeof address;
  CHECK(::bind(fd, reinterpret_cast<const ::sockaddr*>(&address), size) == 0);
  CHECK(::getsockname(fd, reinterpret_cast<::sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

ServerProcess::ServerProcess(const std::vector<std::string>& command, int port,
                             const std::string& log)
    : pid_(::fork()) {
  CHECK(pid_ >= 0);
  if (pid_ == 0) execute(command, log);
  for (int waited = 0; !accepts(port); ++waited) {
    CHECK(waited < 1200 && ::waitpid(pid_, nullptr, WNOHANG) == 0, command[0], ": ",
          io::read_file(log));
    ::usleep(50000);
  }
}

ServerProcess::~ServerProcess() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace smelt
