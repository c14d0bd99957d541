#include "console/agreement.h"

#include <unistd.h>

#include <iostream>
#include <string>

namespace smelt {

bool is_agreed_to(std::string_view question) {
  if (::isatty(STDIN_FILENO) == 0) return false;
  std::cout << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

}  // namespace smelt
