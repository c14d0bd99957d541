#include "cli/options/confirm.h"

#include <unistd.h>

#include <iostream>
#include <string>

#include "base/exit_status.h"

namespace smelt::cli {

bool is_agreed_to(std::string_view question) {
  if (::isatty(STDIN_FILENO) == 0) return false;
  std::cout << std::flush;
  std::cerr << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

void require_agreement(bool agreed, std::string_view question, std::string_view otherwise) {
  if (agreed || is_agreed_to(question)) return;
  std::cerr << otherwise << "\n";
  throw ExitStatus(1);
}

}  // namespace smelt::cli
