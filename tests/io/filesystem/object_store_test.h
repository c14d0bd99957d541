// What every object store must do, the same for each: used by gcs_test and s3_test with their
// emulators.
#pragma once

#include <string>

namespace smelt::io {

// Bytes that look random, the same for the same seed.
std::string test_bytes(std::size_t count, unsigned seed);

void expect_round_trips(const std::string& folder);
void expect_ranged_reads(const std::string& folder);
void expect_patterns(const std::string& folder);
void expect_folders(const std::string& folder);
void expect_nothing_without_commit(const std::string& folder);

// The text of the error that `function` throws.
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
