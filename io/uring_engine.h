// I/O by io_uring.
#pragma once

#include <memory>

#include "io/engine.h"

namespace stepwell::io {

/// kUnsupported or kPermissionDenied, with the reason and the cure, when the build or the kernel
/// does not allow it.
Result<std::unique_ptr<Engine>> make_uring_engine(const EngineOptions& options);

}  // namespace stepwell::io
