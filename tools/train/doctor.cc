#include "tools/train/doctor.h"

#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "io/engine.h"
#include "io/file.h"
#include "src/base/format.h"
#include "src/comm/nccl_info.h"
#include "src/device/device.h"
#include "src/optim/kernels.h"
#include "tools/train/process.h"

namespace stepwell::train {
namespace {

void print(const char* what, const std::string& text) {
  fmt::print("{:<18}{}\n", what, text);
}

std::string describe_file(const io::File& file) {
  if (!file.direct()) {
    return concat("no direct I/O: ", file.direct_refusal());
  }
  return concat("direct I/O, aligned to ",
                file.alignment().offset_bytes,
                " bytes in the file and ",
                file.alignment().memory_bytes,
                " in memory");
}

/// Free space of `folder` and what a file in it can do; leaves none behind.
Result<std::string> probe_folder(const std::string& folder) {
  const Result<std::uint64_t> free_bytes = io::free_bytes_at(folder);
  STEPWELL_RETURN_IF_ERROR(
      free_bytes.status().with_context("name an existing, writable folder with --path"));
  const std::string path = concat(folder, "/stepwell-doctor-", ::getpid(), ".probe");
  const Result<io::File> file = io::File::open(path, {.create = true, .exclusive = true});
  STEPWELL_RETURN_IF_ERROR(file.status());
  ::unlink(path.c_str());
  return concat(
      folder, ": ", format_bytes(free_bytes.value()), " free, ", describe_file(file.value()));
}

}  // namespace

int run_doctor(const DoctorOptions& options) {
  print("version", STEPWELL_VERSION);
  print("processors",
        concat(std::thread::hardware_concurrency(),
               ", optimizer kernels for ",
               optim::to_string(optim::kernels().instruction_set)));
  print("memory",
        concat(format_bytes(proc_bytes("/proc/meminfo", "MemAvailable")),
               " available of ",
               format_bytes(proc_bytes("/proc/meminfo", "MemTotal"))));
  for (const io::EngineKind kind :
       {io::EngineKind::kUring, io::EngineKind::kLibaio, io::EngineKind::kThreads}) {
    const Result<std::unique_ptr<io::Engine>> engine = io::Engine::create({.kind = kind});
    print(concat("engine ", io::to_string(kind)).c_str(),
          engine.ok() ? engine.value()->report().to_string() : engine.status().to_string());
  }
  print("CUDA devices", device::describe_cuda_devices());
  print("NCCL", comm::describe_nccl());
  const Result<std::string> folder = probe_folder(options.folder);
  print("folder", folder.ok() ? folder.value() : folder.status().to_string());
  return folder.ok() ? kExitOk : kExitFailure;
}

}  // namespace stepwell::train
