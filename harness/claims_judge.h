// The verdict on a claim, from its readings: pure functions, no clock and no
// file. Nothing passes because there was nothing to look at, and no bound is
// broken by a reading whose interval contains it.
#ifndef ATTNBENCH_HARNESS_CLAIMS_JUDGE_H_
#define ATTNBENCH_HARNESS_CLAIMS_JUDGE_H_

#include <span>
#include <string>
#include <vector>

#include "harness/claims_ledger.h"
#include "harness/claims_reading.h"

namespace attnbench {

enum class ClaimVerdictKind {
  kHolds,
  kFails,
  kHoldsOnlyIf,    // for some values of the labels
  kNotMeasurable,  // here
  kNotJudged,      // a part beside the claim that has no rule
};

struct ClaimVerdict {
  ClaimVerdictKind kind = ClaimVerdictKind::kNotJudged;
  std::string text = {};  // the condition, or why not

  // "holds", "fails", "holds only if w = 2", "not measurable here: why".
  std::string Text() const;
};

enum class GroupState { kHolds, kFails, kUndecided, kNotJudged };

// The readings with equal values of the part's labels.
struct ClaimGroup {
  Json labels = {};  // those of ClaimPart::per
  GroupState state = GroupState::kNotJudged;
  std::string why = {};  // undecided
  bool is_wide = false;  // the reason is an interval that contains a bound
  // As judged: one where the quantity reduces the group to it. Those without a
  // number are neither least nor greatest while there are others.
  std::size_t num_readings = 0;
  Reading least = {}, greatest = {};
};

struct PartVerdict {
  ClaimVerdict verdict;
  std::vector<ClaimGroup> groups;
};

// Of a reading: with an interval, whether all of it lies inside the bounds of
// the rule, or all of it outside; neither is undecided, as is a reading that
// has no number, or none to judge by. A group fails where a reading does, else
// is undecided where one is, else holds. A part holds where all groups do,
// fails where all do, holds only for some labels where some groups do and some
// fail (the undecided ones are named apart: they are no part of the condition),
// and is else not measurable. `remedy` tells what to do where an interval is
// too wide; may be empty.
PartVerdict JudgePart(const ClaimPart& part, const Readings& readings,
                      const std::string& remedy);

// Over the parts that are not beside: the first of fails, not measurable, holds
// only if, that any of them is; else holds. Where several hold only for some of
// their groups, and one has the labels of all others, what all of them say of
// each of its groups decides: none may be left. `parts` are those of the claim.
ClaimVerdict JudgeClaim(const Claim& claim, std::span<const PartVerdict> parts,
                        const std::string& remedy);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_JUDGE_H_
