#include "cloud/remote_job.h"

#include "base/run_program.h"
#include "base/str.h"
#include "cloud/ssh.h"

namespace smelt::cloud {
namespace {

constexpr const char* kHere = "j=$HOME/.smelt-job\n";

}  // namespace

std::string start_job(const std::string& command) {
  return str(kHere, kJobRuns,
             "if runs; then echo \"a command is already running here: show it with smelt cloud "
             "logs\" >&2; "
             "exit 75; fi\n"
             "rm -rf \"$j\"; mkdir -m 700 \"$j\" || exit 1\n"
             "printf %s ",
             shell_word(command),
             " > \"$j/command\" || exit 1\n"
             // A trap, unlike an ignored signal, is not inherited: TERM ends the command, and its
             // status is stored.
             "setsid sh -c 'trap \"\" HUP; trap : TERM; \"${SHELL:-/bin/sh}\" \"$0/command\" "
             ">\"$0/log\" 2>&1; "
             "echo $? >\"$0/exit.new\"; mv \"$0/exit.new\" \"$0/exit\"' \"$j\" "
             "</dev/null >/dev/null 2>&1 3<&- &\n"
             "echo $! > \"$j/pid\"\n"
             "echo started\n");
}

std::string show_job(int lines, bool follow) {
  const std::string wait = follow ? "-f -s 0.3 --pid=\"$(cat \"$j/pid\")\" " : "";
  return str(kHere, kJobRuns,
             "[ -f \"$j/pid\" ] || { echo \"no command was started here\" >&2; exit 1; }\n"
             "while [ ! -f \"$j/log\" ] && runs; do sleep 0.1; done\n"
             "tail -n ",
             lines, " ", wait,
             "\"$j/log\" || exit 1\n"
             "if [ -f \"$j/exit\" ]; then exit \"$(cat \"$j/exit\")\"; fi\n"
             "runs || { echo \"it ended without an exit status\" >&2; exit 1; }\n");
}

std::string stop_job(int seconds) {
  return str(kHere, kJobRuns, kEndJob,
             "runs || { echo \"no command runs here\"; exit 0; }\n"
             "p=$(cat \"$j/pid\"); end_job; i=0\n"
             "while runs && [ $i -lt ",
             10 * seconds,
             " ]; do\n"
             "  if [ $((i % 300)) = 10 ]; then\n"
             "    echo \"waiting for the command to save and end: $((i / 10)) of at most ",
             seconds,
             " s\"\n"
             "  fi\n"
             "  sleep 0.1; i=$((i+1))\n"
             "done\n"
             "if runs; then kill -s KILL -- \"-$p\"; echo \"killed: it did not end within ",
             seconds, " s\"; else echo stopped; fi\n");
}

}  // namespace smelt::cloud
