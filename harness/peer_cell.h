// A cell that a peer computes (peer.h): hands it the arrays of draws, has
// trials timed, and brings back what a draw gives, so that it passes the same
// gate.
//
// Arrays go through a file of numbers in the cell's precision, row after row,
// as the machine has them; the message says at which byte each begins, and its
// rows and columns. Calls, with `cell` a number that names the draws:
//
//   {"call": "describe"}              -> what PeerInfo holds (peer.h), as JSON
//   {"call": "prepare", "cell", "axes": {AXIS: value},
//    "options": {NAME: value}, "file",
//    "parameters": {NAME: array}, "draws": [[{"outputs": U, "memory": array,
//    "chunk_keys", "states", "chunk_states", "given": {SCORE: array},
//    "cotangent": {"attention" or "contexts": array}, "wanted": [NAME],
//    "energy_bias": r, "energy_scale": g (0: 1/sqrt(d))}]]}   -> {}
//   {"call": "time", "cell", "draws": [k], "first", "trials"} -> {"elapsed_ns"}
//   {"call": "output", "cell", "draw": k, "file"}
//     -> {"sequences": [{"arrays": {NAME: array}, "positions": [t(i) or -1]}]}
//   {"call": "release", "cell"}                               -> {}
//
// Any of them may be answered by {"skipped": why} or {"error": why}.
//
// An array is {"offset", "rows", "columns"}. `wanted` are the names of what is
// compared: "contexts", "attention", "gradient of energies" and so on; those of
// parameters ("gradient of attention.W") come unasked, as only who computes
// knows which it has.
#ifndef ATTNBENCH_HARNESS_PEER_CELL_H_
#define ATTNBENCH_HARNESS_PEER_CELL_H_

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "harness/peer.h"
#include "harness/point_inputs.h"

namespace attnbench {

// Draws that the peer holds, ready to be timed. A peer that was started anew
// gets them again first.
class PeerDraws {
 public:
  // `describe(file)` writes the arrays and gives the message `prepare`, all but
  // `cell`. It, and what it refers to, live as long as this.
  PeerDraws(Peer& peer, std::function<Json(const std::string&)> describe);
  ~PeerDraws();
  PeerDraws(const PeerDraws&) = delete;
  PeerDraws& operator=(const PeerDraws&) = delete;

  // As Trial::TimeNs, by the peer's clock. Throws PeerError, also where it
  // claims more time than has passed here.
  double TimeNs(std::span<const int> draws, Index first_trial, Index trials);

  // The answer to `output`, with the arrays in `file`.
  Json Output(int draw, const std::string& file);

 private:
  void Prepare();

  Peer& peer_;
  const std::function<Json(const std::string&)> describe_;
  const std::int64_t number_;
  int generation_ = 0;  // of the process that holds them
};

class ArrayWriter;  // into the file of a message

template <class Real>
class PeerCell {
 public:
  // Everything that is referred to outlives it. `mechanism` is asked for the
  // parameters that the cell reads.
  PeerCell(Peer& peer, const Cell& cell, const Config& config,
           const Mechanism<Real>& mechanism);

  // Whether a wrong output is a wrong cell.
  bool must_agree() const;

  // `draws` outlives what it gives.
  std::unique_ptr<PeerDraws> Hold(
      const std::vector<std::vector<Sequence<Real>>>& draws);
  std::unique_ptr<PeerDraws> Hold(
      const std::vector<TrainingBatch<Real>>& draws);

  // Makes the contexts of a draw; the position of every output, none (empty)
  // for mechanisms that choose no entry.
  std::vector<std::vector<Index>> Decode(std::span<const Sequence<Real>> batch);
  // Makes everything that the sequences want.
  void Train(std::span<const TrainingSequence<Real>> batch);

 private:
  using Batch = std::span<const TrainingSequence<Real>>;

  Json Describe(const std::vector<Batch>& draws, const std::string& file);
  Json Run(Batch batch);
  Json Parameters(const Sequence<Real>& sequence, ArrayWriter& writer);

  Peer& peer_;
  const Cell& cell_;
  const Config& config_;
  const Mechanism<Real>& mechanism_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_PEER_CELL_H_
