// What of the machine the library can use, and why not the rest.
#pragma once

#include <string>

#include "tools/train/options.h"

namespace stepwell::train {

/// Prints to standard output; returns an exit status: failure when the folder cannot be used.
int run_doctor(const DoctorOptions& options);

}  // namespace stepwell::train
