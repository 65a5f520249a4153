// Which engine runs: names, the order of trying, and the report.
#include "io/engine.h"
#include "io/libaio_engine.h"
#include "io/null_engine.h"
#include "io/thread_engine.h"
#include "io/uring_engine.h"
#include "src/base/format.h"
#include "stepwell/log.h"

namespace stepwell::io {

const char* to_string(EngineKind kind) {
  switch (kind) {
    case EngineKind::kAuto:
      return "auto";
    case EngineKind::kUring:
      return "io_uring";
    case EngineKind::kLibaio:
      return "libaio";
    case EngineKind::kThreads:
      return "threads";
    case EngineKind::kNull:
      return "null";
  }
  return "unknown";
}

Result<EngineKind> parse_engine_kind(std::string_view name) {
  for (const EngineKind kind :
       {EngineKind::kAuto, EngineKind::kUring, EngineKind::kLibaio, EngineKind::kThreads}) {
    if (name == to_string(kind)) {
      return kind;
    }
  }
  return Status(StatusCode::kInvalidArgument,
                concat("I/O engine '", name, "' is none of auto, io_uring, libaio, threads"));
}

Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options) {
  if (options.queue_depth == 0) {
    return Status(StatusCode::kInvalidArgument,
                  "queue depth 0: at least one request must be in flight");
  }
  switch (options.kind) {
    case EngineKind::kUring:
      return make_uring_engine(options);
    case EngineKind::kLibaio:
      return make_libaio_engine(options);
    case EngineKind::kThreads:
      return make_thread_engine(options);
    case EngineKind::kNull:
      return make_null_engine(options);
    case EngineKind::kAuto:
      break;
  }
  std::vector<std::string> refusals;
  for (auto* const make : {&make_uring_engine, &make_libaio_engine, &make_thread_engine}) {
    Result<std::unique_ptr<Engine>> engine = make(options);
    if (engine.ok()) {
      for (const std::string& refusal : refusals) {
        engine.value()->add_refusal(refusal);
      }
      if (!refusals.empty()) {
        log_warning("I/O goes on without the best interface: " +
                    engine.value()->report().to_string());
      }
      return engine;
    }
    refusals.push_back(engine.status().message());
  }
  return Status(StatusCode::kUnsupported, "no I/O engine works here: " + refusals.back());
}

std::string EngineReport::to_string() const {
  std::string text =
      concat(io::to_string(effective),
             effective == requested ? std::string()
                                    : concat(" (asked for: ", io::to_string(requested), ")"),
             ", queue depth ",
             queue_depth);
  for (const std::string& feature : features) {
    text += ", " + feature;
  }
  for (std::size_t index = 0; index < refusals.size(); ++index) {
    text += (index == 0 ? "; not used: " : "; ") + refusals[index];
  }
  return text;
}

}  // namespace stepwell::io
