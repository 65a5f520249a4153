#include "tools/swap_bench/measure.h"

#include <algorithm>
#include <utility>

#include "src/base/format.h"
#include "tools/swap_bench/load.h"
#include "tools/swap_bench/page_cache.h"
#include "tools/swap_bench/pattern.h"

namespace stepwell::swap_bench {
namespace {

/// Layers on their way at a time: one that is computed with, one that is fetched, one written back.
constexpr std::uint64_t kLayersMin = 3;

/// How the buffers are cut.
struct Shape {
  std::uint64_t slot_bytes = 0;
  std::uint64_t slots = 0;
  std::uint64_t stripe_bytes = 0;
};

Shape shape_of(const TestFiles& files,
               Workload workload,
               const Setting& setting,
               std::uint64_t layer_bytes) {
  const std::uint64_t calls = setting.calls_in_flight() * files.count();
  const std::uint64_t stripe = std::max(setting.block_bytes, std::min(kMiB, files.size_bytes()));
  if (workload != Workload::kLayerWalk) {
    return {.slot_bytes = setting.block_bytes, .slots = calls, .stripe_bytes = stripe};
  }
  const std::uint64_t layers = div_ceil(calls * setting.block_bytes, layer_bytes);
  return {.slot_bytes = layer_bytes, .slots = std::max(kLayersMin, layers), .stripe_bytes = stripe};
}

Result<std::unique_ptr<io::Volume>> make_volume(const TestFiles& files,
                                                const Setting& setting,
                                                const Shape& shape) {
  Result<std::vector<io::VolumeMember>> members = files.open(files.access() != Access::kBuffered);
  STEPWELL_RETURN_IF_ERROR(members.status());
  const bool thread_engine = setting.engine == io::EngineKind::kThreads;
  io::VolumeOptions options{
      .engine = {.kind = setting.engine,
                 .queue_depth = setting.queue_depth,
                 .thread_count = setting.threads},
      // Calls are to have the size that was asked for: neighbours are not merged.
      .loop = {.in_flight_bytes_max = 0, .merged_bytes_max = 0},
      .block_bytes = setting.block_bytes,
      .stripe_bytes = shape.stripe_bytes,
      .rings = thread_engine ? 1 : setting.threads};
  return io::Volume::create(std::move(members).value(), options);
}

Status check(const TestFiles& files,
             Workload workload,
             const Setting& setting,
             const Shape& shape) {
  const std::uint64_t volume = files.volume_bytes(shape.stripe_bytes);
  if (volume < shape.slot_bytes) {
    return {StatusCode::kInvalidArgument,
            concat("the test files hold ",
                   format_bytes(volume),
                   ", less than one ",
                   workload == Workload::kLayerWalk ? "layer" : "block",
                   " of ",
                   format_bytes(shape.slot_bytes),
                   ": pass a larger --size, or a smaller ",
                   workload == Workload::kLayerWalk ? "--layer-bytes" : "--block-size")};
  }
  if (files.access() == Access::kBuffered && workload != Workload::kRead &&
      workload != Workload::kWrite) {
    return {StatusCode::kInvalidArgument,
            concat("workload ",
                   to_string(workload),
                   " reads what was just written, which the page cache answers: with --buffered "
                   "only read and write can be measured (",
                   setting.to_string(),
                   ")")};
  }
  return {};
}

void add_latency(Measurement& all, const io::LoopStats& one) {
  const auto slower = [](auto& kept, const auto& other) {
    if (other.latency.p99 >= kept.latency.p99) {
      kept = other;
    }
  };
  slower(all.read_requests, one.read);
  slower(all.write_requests, one.write);
  slower(all.read_calls, one.engine.read);
  slower(all.write_calls, one.engine.write);
}

Status before(const io::Volume& volume, const TestFiles& files) {
  for (std::uint32_t index = 0; index < files.count(); ++index) {
    if (files.access() == Access::kBuffered) {
      STEPWELL_RETURN_IF_ERROR(drop_page_cache(volume.file(index)));
    }
  }
  return {};
}

Status after(const io::Volume& volume, const TestFiles& files) {
  for (std::uint32_t index = 0; index < files.count(); ++index) {
    if (files.access() == Access::kDirect) {
      STEPWELL_RETURN_IF_ERROR(check_not_cached(volume.file(index)));
    }
  }
  return {};
}

}  // namespace

Result<Measurement> measure(const TestFiles& files,
                            Buffers& buffers,
                            Workload workload,
                            const Setting& setting,
                            const MeasureOptions& options) {
  const Shape shape = shape_of(files, workload, setting, options.layer_bytes);
  STEPWELL_RETURN_IF_ERROR(check(files, workload, setting, shape));
  const Result<std::span<std::byte>> memory = buffers.get(shape.slots * shape.slot_bytes);
  STEPWELL_RETURN_IF_ERROR(memory.status());
  Result<std::unique_ptr<io::Volume>> made = make_volume(files, setting, shape);
  STEPWELL_RETURN_IF_ERROR(made.status());
  io::Volume& volume = *made.value();
  volume.register_memory(memory.value());
  STEPWELL_RETURN_IF_ERROR(before(volume, files));
  const bool buffered = files.access() == Access::kBuffered;
  const std::unique_ptr<Pattern> pattern =
      make_pattern({.workload = workload,
                    .volume_bytes = files.volume_bytes(shape.stripe_bytes),
                    .block_bytes = setting.block_bytes,
                    .layer_bytes = options.layer_bytes,
                    .slots = shape.slots,
                    .once = buffered && workload == Workload::kRead,
                    .seed = options.seed});
  const Result<LoadResult> load = run_load(volume,
                                           *pattern,
                                           memory.value(),
                                           {.duration = options.duration,
                                            .slot_bytes = shape.slot_bytes,
                                            .flush_at_end = buffered && writes(workload)});
  STEPWELL_RETURN_IF_ERROR(load.status());
  STEPWELL_RETURN_IF_ERROR(after(volume, files));
  Measurement result{.workload = workload, .setting = setting};
  result.seconds = load.value().seconds;
  result.cpu_seconds = load.value().cpu_seconds;
  result.read_bytes = load.value().read_bytes;
  result.write_bytes = load.value().write_bytes;
  result.stopped = load.value().stopped;
  const std::vector<io::Volume::MemberStats> stats = volume.stats();
  result.engine = stats[0].report;
  for (const io::Volume::MemberStats& member : stats) {
    add_latency(result, member.io);
  }
  result.complaints = volume.complaints();
  return result;
}

}  // namespace stepwell::swap_bench
