// Options of smelt cloud run RECIPE and smelt cloud watch: a training job on Google Cloud.
#pragma once

#include <string>
#include <vector>

namespace smelt::cli {

struct JobOptions {
  std::string recipe;
  std::vector<std::string> settings;
  std::string type, zones, bucket, name, package, prices, until, project, version;
  std::string network, subnetwork, service_account, user, silence, patience, turn, ssh_config;
  double budget = 0, price = 0;
  int attempts = 5;
  double poll = 30;  // seconds
  std::vector<std::string> ssh_options;
  bool spot = false, queued = false, internal = false, yes = false, dry_run = false, json = false;
  bool far_bucket = false;
};

// Starts a job and monitors it, or takes over the job that the folder in the bucket already has.
// Throws ExitStatus if the job fails.
void run_job(const JobOptions& o);

struct WatchOptions {
  std::string place;     // local folder of the run, or the job's folder in the bucket
  std::string out = {};  // folder for the results
  bool end = false, json = false;
  double poll = 30;
  std::string ssh_config = {};
  std::vector<std::string> ssh_options = {};
};
void watch_job(const WatchOptions& o);

}  // namespace smelt::cli
