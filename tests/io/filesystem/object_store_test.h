// The requirements of every object store, which gcs_test and s3_test check with their emulators.
#pragma once

#include <string>

namespace smelt::io {

// Returns pseudo-random bytes that the seed determines.
std::string test_bytes(std::size_t count, unsigned seed);

void expect_round_trips(const std::string& folder);
void expect_ranged_reads(const std::string& folder);
void expect_patterns(const std::string& folder);
void expect_folders(const std::string& folder);
void expect_nothing_without_commit(const std::string& folder);

// Returns the message of the error that `function` throws.
template <class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace smelt::io
