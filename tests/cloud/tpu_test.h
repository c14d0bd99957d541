// A test fixture with the fake TPU API and credentials that it accepts.
#pragma once

#include <gtest/gtest.h>

#include "cloud/fake_tpu.h"
#include "cloud/google_stand_in.h"
#include "cloud/tpu_api.h"

namespace smelt::cloud {

inline constexpr const char* kZone = "us-central1-a";

class TpuTest : public testing::Test {
 protected:
  GoogleApi connect() {
    home_.name_file(google_.user());
    io::HttpOptions options;
    options.wait = [](std::chrono::milliseconds) {};
    options.tell_after = std::chrono::hours(1);
    options.retry.tries = 5;
    return GoogleApi(TokenSource(io::google_credentials()), options);
  }

  EmptyHome home_;
  GoogleStandIn google_;
  FakeTpu fake_;
  HttpServer server_{[this](const ServedRequest& request) { return fake_.serve(request); }};
  const ScopedVariable url_{"CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", server_.url("")};
  const ScopedVariable no_projects_{"CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER",
                                    google_.url("")};
  GoogleApi api_ = connect();
  TpuApi tpu_{api_, "p"};
};

}  // namespace smelt::cloud
