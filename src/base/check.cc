#include "stepwell/check.h"

#include <cstdio>
#include <cstdlib>

namespace stepwell::internal {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(
      stderr, "stepwell: check failed at %s:%d: %s: %s\n", file, line, condition, message.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace stepwell::internal
