#include "io/volume.h"

#include <algorithm>
#include <utility>

#include "io/run_and_wait.h"
#include "src/base/format.h"
#include "stepwell/check.h"

namespace stepwell::io {

Volume::Volume(std::vector<std::unique_ptr<Member>> members,
               StripeLayout layout,
               std::uint64_t block)
    : members_(std::move(members)), layout_(std::move(layout)), block_bytes_(block) {}

Volume::~Volume() = default;

Loop& Volume::Member::loop() {
  const std::uint32_t turn =
      loops.size() == 1 ? 0 : next_loop.fetch_add(1, std::memory_order_relaxed);
  return *loops[turn % loops.size()];
}

Result<std::unique_ptr<Volume>> Volume::create(std::vector<VolumeMember> members,
                                               const VolumeOptions& options) {
  return create(std::move(members), options, [&] { return Engine::create(options.engine); });
}

Result<std::unique_ptr<Volume>> Volume::create(std::vector<VolumeMember> members,
                                               const VolumeOptions& options,
                                               const EngineFactory& make_engine) {
  std::vector<double> weights;
  for (const VolumeMember& member : members) {
    weights.push_back(member.weight);
  }
  Result<StripeLayout> layout = StripeLayout::create(weights, options.stripe_bytes);
  STEPWELL_RETURN_IF_ERROR(layout.status());
  if (options.rings == 0) {
    return Status(StatusCode::kInvalidArgument, "a volume needs at least one ring");
  }
  for (const std::uint64_t bytes : {options.block_bytes, options.stripe_bytes}) {
    if (bytes == 0 || !is_aligned(bytes, kPieceAlignment)) {
      return Status(StatusCode::kInvalidArgument,
                    concat("block size and stripe of a volume are positive multiples of ",
                           kPieceAlignment,
                           " bytes, ",
                           bytes,
                           " is not"));
    }
  }
  std::vector<std::unique_ptr<Member>> made;
  for (VolumeMember& member : members) {
    made.push_back(std::make_unique<Member>(std::move(member)));
    for (std::uint32_t ring = 0; ring < options.rings; ++ring) {
      Result<std::unique_ptr<Engine>> engine = make_engine();
      STEPWELL_RETURN_IF_ERROR(engine.status());
      LoopOptions loop = options.loop;
      loop.cpus = made.back()->options.cpus;
      loop.merged_bytes_max = std::min(loop.merged_bytes_max, options.block_bytes);
      made.back()->loops.push_back(std::make_unique<Loop>(std::move(engine).value(), loop));
      made.back()->loops.back()->register_file(made.back()->options.file);
    }
  }
  return std::unique_ptr<Volume>(new Volume(  // NOLINT: private
      std::move(made),
      std::move(layout).value(),
      options.block_bytes));
}

void Volume::submit(Request& request) {
  STEPWELL_CHECK(request.left.load() == 0, "the request is in flight");
  STEPWELL_CHECK(request.direction == Direction::kFlush || request.size_bytes > 0,
                 "a request of 0 bytes");
  request.first_error = Status();
  request.abandoned = false;
  enqueue_pieces(request);
}

/// Splits at stripes and blocks. The pieces are all made before the first one starts.
void Volume::enqueue_pieces(Request& request) {
  struct Start {
    Loop* loop = nullptr;
    Op* op = nullptr;
  };
  const auto fill =
      [&](Op& op, Member& member, std::uint64_t offset, std::uint64_t done, std::uint64_t bytes) {
        op.direction = request.direction;
        op.priority = request.priority;
        op.file = &member.options.file;
        op.offset = offset;
        op.data = request.data + done;
        op.size_bytes = bytes;
        op.on_complete = &Volume::on_piece;
        op.context = &request;
      };
  const bool flush = request.direction == Direction::kFlush;
  if (!flush && request.size_bytes <= block_bytes_) {
    const StripeLayout::Piece piece = layout_.first_piece(request.offset, request.size_bytes);
    if (piece.size_bytes == request.size_bytes) {
      Member& member = *members_[piece.member];
      fill(request.one, member, piece.member_offset, 0, piece.size_bytes);
      request.left = 1;
      member.loop().enqueue(request.one);
      return;
    }
  }
  std::vector<StripeLayout::Piece> pieces;
  for (std::uint32_t member = 0; flush && member < members_.size(); ++member) {
    pieces.push_back({.member = member});
  }
  for (std::uint64_t done = 0; !flush && done < request.size_bytes;) {
    StripeLayout::Piece piece =
        layout_.first_piece(request.offset + done, request.size_bytes - done);
    piece.size_bytes = std::min(piece.size_bytes, block_bytes_);
    pieces.push_back(piece);
    done += piece.size_bytes;
  }
  if (request.several.size() != pieces.size()) {
    std::vector<Op> ops(pieces.size());
    request.several.swap(ops);
  }
  request.left = static_cast<std::uint32_t>(pieces.size());
  std::vector<std::vector<Op*>> by_member(members_.size());
  for (std::size_t index = 0; index < pieces.size(); ++index) {
    const StripeLayout::Piece& piece = pieces[index];
    Op& op = request.several[index];
    fill(op,
         *members_[piece.member],
         piece.member_offset,
         piece.volume_offset - request.offset,
         piece.size_bytes);
    by_member[piece.member].push_back(&op);
  }
  for (std::size_t index = 0; index < members_.size(); ++index) {
    Member& member = *members_[index];
    const std::vector<Op*>& ops = by_member[index];
    if (member.loops.size() == 1) {
      member.loops[0]->enqueue(ops);
    } else {
      for (Op* op : ops) {
        member.loop().enqueue(*op);
      }
    }
  }
}

void Volume::on_piece(Op& op, const Status& status) noexcept {
  Request& request = *static_cast<Request*>(op.context);
  if (!status.ok()) {
    const std::lock_guard lock(request.failing);
    request.abandoned |= op.abandoned;
    if (request.first_error.ok()) {
      request.first_error = status;
    }
  }
  if (request.left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const Status outcome = std::move(request.first_error);
    request.on_complete(request, outcome);
  }
}

Status Volume::run_blocking(Request& request) {
  return run_and_wait(request, [&] { submit(request); });
}

void Volume::change_priority(Request& request, Priority priority) {
  request.priority = priority;
  const auto change = [&](Op& op) {
    if (op.loop != nullptr) {
      op.loop->change_priority(op, priority);
    }
  };
  change(request.one);
  std::for_each(request.several.begin(), request.several.end(), change);
}

Status Volume::preallocate(std::uint64_t total_bytes) {
  for (std::uint32_t member = 0; member < members_.size(); ++member) {
    STEPWELL_RETURN_IF_ERROR(
        members_[member]->options.file.preallocate(layout_.member_bytes(member, total_bytes)));
  }
  return {};
}

void Volume::register_memory(std::span<std::byte> memory) {
  for (const std::unique_ptr<Member>& member : members_) {
    for (const std::unique_ptr<Loop>& loop : member->loops) {
      loop->register_memory(memory);
    }
  }
}

const StripeLayout& Volume::layout() const {
  return layout_;
}

const File& Volume::file(std::uint32_t member) const {
  return members_[member]->options.file;
}

Alignment Volume::alignment() const {
  Alignment all;
  for (const std::unique_ptr<Member>& member : members_) {
    const Alignment one = member->options.file.alignment();
    all.memory_bytes = std::max(all.memory_bytes, one.memory_bytes);
    all.offset_bytes = std::max(all.offset_bytes, one.offset_bytes);
  }
  return all;
}

}  // namespace stepwell::io
