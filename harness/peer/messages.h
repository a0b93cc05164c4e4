// The messages to a peer and its answers, a line of JSON each. `cell` is a
// number that names the draws of a cell. Any call may be answered by
// {"skipped": why} or {"error": why}; a call that asks for nothing is answered
// by {}.
//
// Arrays go through a file of numbers in the cell's precision, row after row,
// in the machine's own format; a message has only their places.
#ifndef ATTNBENCH_HARNESS_PEER_MESSAGES_H_
#define ATTNBENCH_HARNESS_PEER_MESSAGES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/sweep/axes.h"
#include "harness/sweep/peer_variant.h"

namespace attnbench {

inline constexpr int kPeerProtocol = 1;

// The description of a peer: its answer to "describe".
struct PeerInfo {
  int protocol = kPeerProtocol;
  std::string name = {};
  std::map<std::string, std::string> libraries = {};  // versions
  std::vector<PeerVariant> variants = {};

  static void Fields(auto& self, auto& visit) {
    visit("protocol", self.protocol,
          Rule{.minimum = kPeerProtocol, .maximum = kPeerProtocol});
    visit("name", self.name, kNotEmpty);
    visit("libraries", self.libraries, kNotEmpty);
    visit("variants", self.variants, Rule{.min_items = 1});
  }
};

struct DescribeCall {
  std::string call = "describe";

  static void Fields(auto& self, auto& visit) { visit("call", self.call); }
};

// The place of an array in the file: the byte at which it begins, and its
// shape.
struct ArrayPlace {
  Index offset = 0, rows = 0, columns = 0;

  static void Fields(auto& self, auto& visit) {
    visit("offset", self.offset, kAtLeastZero);
    visit("rows", self.rows, kAtLeastZero);
    visit("columns", self.columns, kAtLeastZero);
  }
};
using ArrayPlaces = std::map<std::string, ArrayPlace>;

// One sequence of a draw. `given` are scores, `cotangent` is of "attention" or
// "contexts". `wanted` are the names of the arrays that are compared:
// "contexts", "attention", "gradient of energies" and so on; gradients of
// parameters ("gradient of attention.W") come unasked, as only the peer knows
// which it has.
struct SequenceMessage {
  Index outputs = 0;
  double energy_bias = 0;
  double energy_scale = 0;  // 0: 1/sqrt(d)
  ArrayPlaces arrays = {};  // memory, states, further inputs, one member each
  ArrayPlaces given = {}, cotangent = {};
  std::vector<std::string> wanted = {};

  static void Fields(auto& self, auto& visit) {
    visit("outputs", self.outputs);
    visit("energy_bias", self.energy_bias);
    visit("energy_scale", self.energy_scale);
    for (auto& [name, place] : self.arrays) visit(name.c_str(), place);
    visit("given", self.given);
    visit("cotangent", self.cotangent);
    visit("wanted", self.wanted);
  }
};

// Hands over a cell and its draws; `axes` also name the mechanism.
struct PrepareCall {
  std::string call = "prepare";
  std::int64_t cell = 0;
  std::map<std::string, AxisValue> axes = {};
  std::map<std::string, OptionValue> options = {};
  std::string file = {};
  ArrayPlaces parameters = {};
  std::vector<std::vector<SequenceMessage>> draws = {};

  static void Fields(auto& self, auto& visit) {
    visit("call", self.call);
    visit("cell", self.cell);
    visit("axes", self.axes);
    visit("options", self.options);
    visit("file", self.file);
    visit("parameters", self.parameters);
    visit("draws", self.draws);
  }
};

struct TimeCall {
  std::string call = "time";
  std::int64_t cell = 0;
  std::vector<int> draws = {};
  Index first = 0, trials = 0;

  static void Fields(auto& self, auto& visit) {
    visit("call", self.call);
    visit("cell", self.cell);
    visit("draws", self.draws);
    visit("first", self.first);
    visit("trials", self.trials);
  }
};
struct TimeAnswer {
  double elapsed_ns = 0;
  // Pages that the system cleared for the peer meanwhile.
  std::optional<double> page_faults = {};

  static void Fields(auto& self, auto& visit) {
    visit("elapsed_ns", self.elapsed_ns, kAboveZero);
    visit("page_faults", self.page_faults,
          Rule{.minimum = 0, .absent_if_unset = true});
  }
};

// Asks for the outputs of one draw, with the arrays in `file`.
struct OutputCall {
  std::string call = "output";
  std::int64_t cell = 0;
  int draw = 0;
  std::string file = {};

  static void Fields(auto& self, auto& visit) {
    visit("call", self.call);
    visit("cell", self.cell);
    visit("draw", self.draw);
    visit("file", self.file);
  }
};
struct SequenceAnswer {
  ArrayPlaces arrays = {};
  std::optional<std::vector<Index>> positions = {};  // t(i), or -1

  static void Fields(auto& self, auto& visit) {
    visit("arrays", self.arrays);
    visit("positions", self.positions,
          Rule{.minimum = -1, .absent_if_unset = true});
  }
};
struct OutputAnswer {
  std::vector<SequenceAnswer> sequences = {};

  static void Fields(auto& self, auto& visit) {
    visit("sequences", self.sequences);
  }
};

struct ReleaseCall {
  std::string call = "release";
  std::int64_t cell = 0;

  static void Fields(auto& self, auto& visit) {
    visit("call", self.call);
    visit("cell", self.cell);
  }
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_PEER_MESSAGES_H_
