// What this build knows of NCCL, for reports.
#pragma once

#include <string>

namespace stepwell::comm {

/// "2.27.3 (built against 2.27.3)", or why there is none. Thread-safe; needs no GPU.
std::string describe_nccl();

}  // namespace stepwell::comm
