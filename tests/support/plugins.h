// Opens the devices that tests use, if their plugin is installed.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "base/error.h"
#include "pjrt/client.h"
#include "pjrt/find_plugin.h"
#include "support/missing.h"

// Skips or fails the test if the plugin of a device ("cpu", "tpu") is not installed.
#define REQUIRE_PLUGIN(device)                    \
  try {                                           \
    ::smelt::pjrt::find_plugin(device);           \
  } catch (const ::smelt::UsageError& missing) {  \
    SKIP_OR_FAIL_WITHOUT(device, missing.what()); \
  }

// Declares `client`, the CPU split into `devices` devices; ends the test if the plugin is missing.
#define SMELT_OPEN_CPU(client, devices)                       \
  REQUIRE_PLUGIN("cpu")                                       \
  const std::shared_ptr<const ::smelt::pjrt::Client> client = \
      ::smelt::pjrt::open_device("cpu", devices)
