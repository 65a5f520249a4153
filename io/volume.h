// Several files on different devices as one range of bytes: the whole bandwidth of all of them,
// each with its own queue and its own threads.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/file.h"
#include "io/loop.h"
#include "io/stripe.h"

namespace stepwell::io {

struct VolumeMember {
  File file;
  double weight = 1;      // share of the bytes: the measured bandwidth, in any unit
  std::vector<int> cpus;  // cores for its threads, for example those near the device; empty: all
};

/// Pieces begin and end at multiples of this, but for the ends of a request: no two share a page.
inline constexpr std::uint64_t kPieceAlignment = 4096;

struct VolumeOptions {
  EngineOptions engine;  // queue depth and threads of each ring of each member
  LoopOptions loop;      // cpus is taken from the member
  /// Longer requests are split into calls of this size, neighbours merged up to it.
  std::uint64_t block_bytes = kMiB;
  std::uint64_t stripe_bytes = kMiB;  // on one member before the next one's turn
  std::uint32_t rings = 1;            // threads with a queue each, for every member
};

/// One transfer, owned by its caller and reusable once completed; the same lifetime rules as Op.
/// Any size and offset.
struct Request {
  using Callback = void (*)(Request& request, const Status& status) noexcept;

  Direction direction = Direction::kRead;
  Priority priority = Priority::kDemand;
  std::uint64_t offset = 0;  // bytes from the start of the volume
  std::byte* data = nullptr;
  std::uint64_t size_bytes = 0;    // above 0; ignored by kFlush, which is for all members
  Callback on_complete = nullptr;  // on an I/O thread; must not block
  void* context = nullptr;         // for the callback's own use
  bool abandoned = false;          // see Op::abandoned

  // Owned by the volume while in flight.
  Op one;                   // the only piece, most often
  std::vector<Op> several;  // or all of them
  std::atomic<std::uint32_t> left = 0;
  std::mutex failing;
  Status first_error;  // guarded by failing
};

/// Thread-safe.
class Volume {
 public:
  struct MemberStats {
    std::string path;
    bool direct = false;
    EngineReport report;  // of its first ring
    LoopStats io;         // of all rings together; percentiles of the slowest
  };

  /// kInvalidArgument: no member, a bad weight, block or stripe size. Errors of Engine::create().
  static Result<std::unique_ptr<Volume>> create(std::vector<VolumeMember> members,
                                                const VolumeOptions& options);
  /// With engines of the caller's making (tests): `make_engine` is called for every ring.
  using EngineFactory = std::function<Result<std::unique_ptr<Engine>>()>;
  static Result<std::unique_ptr<Volume>> create(std::vector<VolumeMember> members,
                                                const VolumeOptions& options,
                                                const EngineFactory& make_engine);
  /// Completes what is in flight.
  ~Volume();
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  void submit(Request& request);
  /// Runs `request` and waits; its on_complete and context are not used. Not on an I/O thread.
  Status run_blocking(Request& request);
  /// For what still waits of `request`, which must not end meanwhile.
  void change_priority(Request& request, Priority priority);
  /// Makes room for `total_bytes` on all members, see File::preallocate().
  Status preallocate(std::uint64_t total_bytes);
  /// See Engine::register_memory().
  void register_memory(std::span<std::byte> memory);

  const StripeLayout& layout() const;
  const File& file(std::uint32_t member) const;
  /// Offsets and sizes that suit direct I/O on every member.
  Alignment alignment() const;
  std::vector<MemberStats> stats() const;
  /// One line: members with engine, direct or buffered, alignment.
  std::string describe() const;
  /// What is wrong: a member that is far slower than its share of the bytes allows, one with errors
  /// or with requests that never completed. Each names the member and the numbers. Empty: nothing.
  std::vector<std::string> complaints() const;

 private:
  struct Member {
    explicit Member(VolumeMember given) : options(std::move(given)) {}
    VolumeMember options;
    std::vector<std::unique_ptr<Loop>> loops;
    std::atomic<std::uint32_t> next_loop = 0;
    Loop& loop();  // by turns
  };
  Volume(std::vector<std::unique_ptr<Member>> members, StripeLayout layout, std::uint64_t block);
  void enqueue_pieces(Request& request);
  static void on_piece(Op& op, const Status& status) noexcept;

  std::vector<std::unique_ptr<Member>> members_;
  const StripeLayout layout_;
  const std::uint64_t block_bytes_;
};

}  // namespace stepwell::io
