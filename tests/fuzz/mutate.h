// Random mutations of an input.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace smelt {

class Mutator {
 public:
  Mutator(std::uint64_t seed, std::vector<std::string> words)
      : random_(seed), words_(std::move(words)) {}

  // Applies one or more mutations; some insert a piece of `other`.
  std::string mutate(std::string input, const std::string& other);
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }

 private:
  void change(std::string& input, const std::string& other);
  void change_byte(std::string& input);
  void change_run(std::string& input, const std::string& other);
  std::string number();

  std::mt19937_64 random_;
  std::vector<std::string> words_;
};

}  // namespace smelt
