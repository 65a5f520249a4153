// DeepSpeed's benchmark ds_io, where it is installed.
#pragma once

#include <string>
#include <vector>

#include "stepwell/status.h"
#include "tools/swap_bench/compare.h"
#include "tools/swap_bench/test_files.h"

namespace stepwell::swap_bench {

/// kNotFound when there is neither a program ds_io nor a Python module deepspeed.
Status check_ds_io();

/// The speed of the line `... E2E ... Speed = N GB/sec` in ds_io's output, in bytes per second: its
/// GB are 2^30 bytes. kCorrupt when there is none.
Result<double> parse_ds_io(const std::string& output);

/// One run in the folder of the first file, on a file of ds_io's own; bytes per second from end to
/// end. kRead and kWrite only.
Result<double> run_ds_io(const TestFiles& files, const CompareOptions& options);

}  // namespace stepwell::swap_bench
