// The devices that tests use, where their plugin is installed.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "base/error.h"
#include "runtime/client.h"

namespace smelt {

// Ends the test as skipped, with the reason, where the plugin is not installed.
#define SMELT_OPEN_CPU(client, devices)            \
  std::shared_ptr<const ::smelt::Client> client;   \
  try {                                            \
    client = ::smelt::open_device("cpu", devices); \
  } catch (const ::smelt::UsageError& error) {     \
    GTEST_SKIP() << error.what();                  \
  }

}  // namespace smelt
