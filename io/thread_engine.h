// I/O by worker threads that call pread and pwrite: works everywhere.
#pragma once

#include <memory>

#include "io/engine.h"

namespace stepwell::io {

/// `options.thread_count` threads (at least one).
Result<std::unique_ptr<Engine>> make_thread_engine(const EngineOptions& options);

}  // namespace stepwell::io
