// Another program, run to its end.
#pragma once

#include <string>
#include <vector>

#include "stepwell/status.h"

namespace stepwell::swap_bench {

struct ProcessOutcome {
  int status = 0;      // of exit, or -signal
  std::string output;  // standard output
  std::string errors;  // standard error
};

/// The path of `program` in $PATH, or nothing.
std::string find_program(const std::string& program);

/// Runs `arguments` (the first is the program) and waits; ends it and gives kCancelled when a
/// signal asks to stop. kNotFound when there is no such program.
Result<ProcessOutcome> run_process(const std::vector<std::string>& arguments);

}  // namespace stepwell::swap_bench
