// smelt cloud doctor.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>

#include "cloud/doctor.h"

namespace smelt::cli {

void add_doctor_command(CLI::App& cloud);

// Prints one line per check, and below a failed check how to fix it.
void print_checks(std::ostream& out, const std::vector<cloud::DoctorCheck>& checks);
bool are_good(const std::vector<cloud::DoctorCheck>& checks);

}  // namespace smelt::cli
