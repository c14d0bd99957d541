// Where the program's messages go: to standard error, above a bar that is drawn there.
#pragma once

#include <streambuf>
#include <string>

namespace smelt {

// Makes it spdlog's default. Warnings and errors are red or yellow on a terminal that has colours,
// and begin with "warning:" and "error:" elsewhere.
void set_up_log();

// While it lives nothing but errors is told, each with who tells it before it, and what is written
// to std::cout goes nowhere: of several processes that do the same, one speaks.
class OnlyErrors {
 public:
  explicit OnlyErrors(const std::string& who);
  ~OnlyErrors();
  OnlyErrors(const OnlyErrors&) = delete;
  OnlyErrors& operator=(const OnlyErrors&) = delete;

 private:
  int level_;
  std::streambuf* out_;
};

}  // namespace smelt
