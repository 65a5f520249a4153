// What a volume tells of itself.
#include <algorithm>

#include "io/volume.h"
#include "src/base/format.h"

namespace stepwell::io {
namespace {

void add(LatencySummary& all, const LatencySummary& one) {
  const std::uint64_t count = all.count + one.count;
  if (count > 0) {
    all.mean = LatencySummary::Duration((all.mean.count() * static_cast<std::int64_t>(all.count) +
                                         one.mean.count() * static_cast<std::int64_t>(one.count)) /
                                        static_cast<std::int64_t>(count));
  }
  all.count = count;
  all.p50 = std::max(all.p50, one.p50);
  all.p90 = std::max(all.p90, one.p90);
  all.p99 = std::max(all.p99, one.p99);
  all.p999 = std::max(all.p999, one.p999);
  all.max = std::max(all.max, one.max);
}

void add(RequestStats& all, const RequestStats& one) {
  all.requests += one.requests;
  all.bytes += one.bytes;
  add(all.latency, one.latency);
}

void add(DirectionStats& all, const DirectionStats& one) {
  all.calls += one.calls;
  all.bytes += one.bytes;
  add(all.latency, one.latency);
}

void add(LoopStats& all, const LoopStats& one) {
  add(all.read, one.read);
  add(all.write, one.write);
  all.busy = std::max(all.busy, one.busy);
  all.failed_requests += one.failed_requests;
  all.merged_requests += one.merged_requests;
  all.timed_out_requests += one.timed_out_requests;
  all.waiting_requests += one.waiting_requests;
  all.in_flight_requests += one.in_flight_requests;
  add(all.engine.read, one.engine.read);
  add(all.engine.write, one.engine.write);
  all.engine.flushes += one.engine.flushes;
  all.engine.failed_requests += one.engine.failed_requests;
  all.engine.resubmitted_calls += one.engine.resubmitted_calls;
  all.engine.abandoned_requests += one.engine.abandoned_requests;
}

double bandwidth_of(const LoopStats& stats) {
  const double seconds = std::chrono::duration<double>(stats.busy).count();
  return seconds > 0 ? static_cast<double>(stats.read.bytes + stats.write.bytes) / seconds : 0;
}

}  // namespace

std::vector<Volume::MemberStats> Volume::stats() const {
  std::vector<MemberStats> all;
  for (const std::unique_ptr<Member>& member : members_) {
    MemberStats one{.path = member->options.file.path(),
                    .direct = member->options.file.direct(),
                    .report = member->loops[0]->report()};
    for (const std::unique_ptr<Loop>& loop : member->loops) {
      add(one.io, loop->stats());
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::string Volume::describe() const {
  std::string text;
  for (std::uint32_t index = 0; index < members_.size(); ++index) {
    const Member& member = *members_[index];
    const File& file = member.options.file;
    text += concat(index == 0 ? "" : "; ", file.path());
    if (members_.size() > 1) {
      text += concat(" (", layout_.share_of(index), " of ", layout_.cycle_stripes(), " stripes)");
    }
    text += concat(": ", member.loops[0]->report().to_string(), ", ");
    text += file.direct() ? concat("direct I/O (alignment ", file.alignment().offset_bytes, ")")
                          : concat("buffered I/O",
                                   file.direct_refusal().empty() ? "" : ", ",
                                   file.direct_refusal());
  }
  return text;
}

std::vector<std::string> Volume::complaints() const {
  constexpr double kSlow = 0.5;
  constexpr std::uint64_t kBytesMin = 64 * kMiB;  // fewer say nothing
  std::vector<std::string> all;
  const std::vector<MemberStats> members = stats();
  // Bytes a second that the whole volume would reach if all were as fast as this one for its share.
  std::vector<double> as_whole;
  for (std::uint32_t index = 0; index < members.size(); ++index) {
    as_whole.push_back(bandwidth_of(members[index].io) * layout_.cycle_stripes() /
                       layout_.share_of(index));
  }
  const double best = *std::max_element(as_whole.begin(), as_whole.end());
  for (std::uint32_t index = 0; index < members.size(); ++index) {
    const MemberStats& member = members[index];
    if (member.io.failed_requests > 0) {
      all.push_back(concat(member.path,
                           ": ",
                           member.io.failed_requests,
                           " requests failed, ",
                           member.io.timed_out_requests,
                           " of them without an answer in time"));
    }
    const bool counts = member.io.read.bytes + member.io.write.bytes >= kBytesMin;
    if (counts && members.size() > 1 && as_whole[index] < kSlow * best) {
      all.push_back(concat(member.path,
                           ": holds the volume back: ",
                           format_rate(bandwidth_of(member.io)),
                           " for ",
                           layout_.share_of(index),
                           " of ",
                           layout_.cycle_stripes(),
                           " stripes, the best member allows ",
                           format_rate(best),
                           " in all; give it a smaller weight or replace it"));
    }
  }
  return all;
}

}  // namespace stepwell::io
