#include "tools/swap_bench/verify.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/format.h"
#include "tools/common/signals.h"
#include "tools/swap_bench/block_sums.h"
#include "tools/swap_bench/page_cache.h"
#include "tools/swap_bench/random_bytes.h"
#include "tools/swap_bench/report.h"

namespace stepwell::swap_bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPieceBlocksMax = 512;  // 2 MiB
constexpr std::uint64_t kSlots = 48;            // pieces in flight
constexpr std::uint64_t kStripeBytes = 256 * kKiB;
constexpr std::uint64_t kCallBytes = 512 * kKiB;  // larger pieces are split

/// Pieces in flight, and what the volume should hold.
class Verifier {
 public:
  Verifier(io::Volume& volume,
           std::uint64_t volume_bytes,
           std::span<std::byte> memory,
           const VerifyPlan& plan)
      : volume_(volume),
        plan_(plan),
        sums_(volume_bytes / BlockSums::kBlockBytes),
        random_(plan.seed),
        slots_(kSlots) {
    for (std::size_t index = 0; index < slots_.size(); ++index) {
      Slot& slot = slots_[index];
      slot.verifier = this;
      slot.memory = memory.data() + index * slot_bytes();
      slot.request.context = &slot;
      slot.request.on_complete = [](io::Request& request, const Status& status) noexcept {
        Slot& done = *static_cast<Slot*>(request.context);
        done.verifier->completed(done, status);
      };
    }
  }

  /// A block more than the largest piece, so that a piece may start off the alignment of memory.
  static std::uint64_t slot_bytes() { return (kPieceBlocksMax + 1) * BlockSums::kBlockBytes; }

  Result<VerifyResult> run() {
    deadline_ = Clock::now() + plan_.duration;
    work([this](Slot& slot) { return next_random(slot); });
    STEPWELL_RETURN_IF_ERROR(error_);
    if (plan_.before_last_reading) {
      plan_.before_last_reading(volume_);
    }
    for (std::uint32_t index = 0; index < volume_.layout().member_count(); ++index) {
      // The disk, not memory, is asked. Where the pages cannot be dropped (file systems in memory)
      // they are what is verified.
      static_cast<void>(drop_page_cache(volume_.file(index)).ok());
    }
    work([this](Slot& slot) { return next_in_order(slot); });
    STEPWELL_RETURN_IF_ERROR(error_);
    return result_;
  }

 private:
  struct Slot {
    Verifier* verifier = nullptr;
    std::byte* memory = nullptr;
    std::uint64_t first = 0;  // block
    std::uint64_t count = 0;  // blocks; 0: nothing in flight
    io::Request request;
  };
  using Next = std::function<bool(Slot&)>;

  /// Keeps all slots busy until `next` has no more for any of them.
  void work(Next next) {
    {
      const std::lock_guard lock(mutex_);
      next_ = std::move(next);
      active_ = slots_.size();
    }
    for (Slot& slot : slots_) {
      advance(slot);
    }
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return active_ == 0; });
  }

  /// With the lock. A random piece that overlaps none in flight.
  bool next_random(Slot& slot) {
    if (Clock::now() >= deadline_ || tools::stop_signal() != 0) {
      return false;
    }
    do {
      // All of them together hold at most half of the volume.
      slot.count = 1 + random_.below(std::min(kPieceBlocksMax, sums_.blocks() / (2 * kSlots)));
      // Small ones as often as large ones.
      slot.count = std::max<std::uint64_t>(1, slot.count >> random_.below(10));
      slot.first = random_.below(sums_.blocks() - slot.count + 1);
    } while (!sums_.take(slot.first, slot.count));
    const bool write = random_.below(2) == 0;
    // Memory off the alignment of direct I/O, now and then.
    const std::uint64_t shift = random_.below(4) == 0 ? 8 : 0;
    fill(slot, write ? io::Direction::kWrite : io::Direction::kRead, shift);
    return true;
  }

  /// With the lock.
  bool next_in_order(Slot& slot) {
    if (next_block_ == sums_.blocks() || tools::stop_signal() != 0) {
      return false;
    }
    slot.first = next_block_;
    slot.count = std::min(kPieceBlocksMax, sums_.blocks() - next_block_);
    next_block_ += slot.count;
    STEPWELL_CHECK(sums_.take(slot.first, slot.count), "a block is still in use");
    fill(slot, io::Direction::kRead, 0);
    return true;
  }

  /// With the lock.
  void fill(Slot& slot, io::Direction direction, std::uint64_t shift) {
    slot.request.direction = direction;
    slot.request.data = slot.memory + shift;
    slot.request.offset = slot.first * BlockSums::kBlockBytes;
    slot.request.size_bytes = slot.count * BlockSums::kBlockBytes;
    if (direction == io::Direction::kWrite) {
      const std::span bytes(slot.request.data, slot.request.size_bytes);
      stamp(bytes, random_.next());
      sums_.remember(slot.first, bytes);
    }
  }

  void advance(Slot& slot) {
    {
      const std::lock_guard lock(mutex_);
      if (!error_.ok() || !next_(slot)) {
        --active_;
        idle_.notify_one();
        return;
      }
    }
    volume_.submit(slot.request);
  }

  void completed(Slot& slot, const Status& status) {
    {
      const std::lock_guard lock(mutex_);
      sums_.give_back(slot.first, slot.count);
      ++result_.requests;
      const Status outcome = status.ok() ? judge(slot) : status;
      error_ = error_.ok() ? outcome : error_;
    }
    advance(slot);
  }

  /// With the lock.
  Status judge(const Slot& slot) {
    const std::span<const std::byte> bytes(slot.request.data, slot.request.size_bytes);
    if (slot.request.direction == io::Direction::kWrite) {
      result_.written_bytes += bytes.size();
      return {};
    }
    const std::optional<BlockSums::Mismatch> wrong = sums_.check(slot.first, bytes);
    if (!wrong) {
      result_.checked_bytes += sums_.known_bytes(slot.first, slot.count);
      return {};
    }
    const io::StripeLayout::Piece piece =
        volume_.layout().first_piece(wrong->block * BlockSums::kBlockBytes, BlockSums::kBlockBytes);
    return {StatusCode::kCorrupt,
            fmt::format("{}: the {} bytes at offset {} are not what was written: checksum expected "
                        "{:016x}, found {:016x} (seed {}, read {} bytes at once)",
                        volume_.file(piece.member).path(),
                        BlockSums::kBlockBytes,
                        piece.member_offset,
                        wrong->expected,
                        wrong->found,
                        plan_.seed,
                        bytes.size())};
  }

  io::Volume& volume_;
  const VerifyPlan& plan_;
  Clock::time_point deadline_;
  std::mutex mutex_;
  std::condition_variable idle_;
  Next next_;                     // guarded by mutex_
  std::size_t active_ = 0;        // guarded by mutex_
  BlockSums sums_;                // guarded by mutex_
  Random random_;                 // guarded by mutex_
  std::uint64_t next_block_ = 0;  // guarded by mutex_
  Status error_;                  // guarded by mutex_
  VerifyResult result_;           // guarded by mutex_
  std::vector<Slot> slots_;
};

}  // namespace

Result<VerifyResult> verify(const TestFiles& files, Buffers& buffers, const VerifyPlan& plan) {
  const Result<std::span<std::byte>> memory = buffers.get(kSlots * Verifier::slot_bytes());
  STEPWELL_RETURN_IF_ERROR(memory.status());
  Result<std::vector<io::VolumeMember>> members = files.open(plan.direct);
  STEPWELL_RETURN_IF_ERROR(members.status());
  Result<std::unique_ptr<io::Volume>> volume =
      io::Volume::create(std::move(members).value(),
                         {.engine = {.kind = plan.engine, .queue_depth = plan.queue_depth},
                          .block_bytes = kCallBytes,
                          .stripe_bytes = kStripeBytes,
                          .rings = plan.threads});
  STEPWELL_RETURN_IF_ERROR(volume.status());
  const std::uint64_t bytes = files.volume_bytes(kStripeBytes);
  // The random pieces leave room for each other.
  if (bytes < 4 * kSlots * BlockSums::kBlockBytes) {
    return Status(StatusCode::kInvalidArgument,
                  concat("the test files hold ",
                         format_bytes(bytes),
                         "; verify needs at least ",
                         format_bytes(4 * kSlots * BlockSums::kBlockBytes),
                         ": pass a larger --size"));
  }
  Verifier verifier(*volume.value(), bytes, memory.value(), plan);
  return verifier.run();
}

int verify_command(const VerifyOptions& options) {
  Progress progress;
  Buffers buffers;
  Result<TestFiles> files = TestFiles::create(options.files, buffers, progress);
  if (!files.ok()) {
    progress.clear();
    return report_failure(files.status());
  }
  const bool both = files.value().access() == Access::kDirect;
  const double parts = static_cast<double>(options.engines.size()) * (both ? 2 : 1);
  for (const io::EngineKind engine : options.engines) {
    for (const bool direct : {true, false}) {
      if ((direct && !both) || tools::stop_signal() != 0) {
        continue;
      }
      const std::string what =
          concat("verify: ", io::to_string(engine), ", ", direct ? "direct" : "buffered");
      progress.show(what);
      const Result<VerifyResult> result = verify(
          files.value(),
          buffers,
          {.engine = engine,
           .direct = direct,
           .queue_depth = options.queue_depth,
           .threads = options.threads,
           .seed = options.seed,
           .duration =
               std::chrono::nanoseconds(static_cast<std::int64_t>(options.seconds / parts * 1e9))});
      progress.clear();
      if (!result.ok()) {
        return report_failure(result.status().with_context(what));
      }
      const Status printed = write_text("-",
                                        concat(what,
                                               ": right: ",
                                               result.value().requests,
                                               " requests, ",
                                               format_bytes(result.value().written_bytes),
                                               " written, ",
                                               format_bytes(result.value().checked_bytes),
                                               " checked, seed ",
                                               options.seed,
                                               '\n'));
      if (!printed.ok()) {
        return report_failure(printed);
      }
    }
  }
  return tools::stop_signal() == 0 ? kExitOk : 128 + tools::stop_signal();
}

}  // namespace stepwell::swap_bench
