// Runs a cell in a peer (peer.h): hands over the arrays of draws, lets the peer
// time trials, and brings back what a draw gives, so that it passes the same
// gate.
#ifndef ATTNBENCH_HARNESS_PEER_CELL_H_
#define ATTNBENCH_HARNESS_PEER_CELL_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/inputs/point_inputs.h"
#include "harness/peer/peer.h"

namespace attnbench {

// The draws that a peer holds, ready to be timed. A peer that was started anew
// gets them again first.
class PeerDraws {
 public:
  // `describe(file)` writes the arrays and gives the message, all but `cell`.
  // It, and what it refers to, live as long as this.
  PeerDraws(Peer& peer,
            std::function<PrepareCall(const std::string&)> describe);
  ~PeerDraws();
  PeerDraws(const PeerDraws&) = delete;
  PeerDraws& operator=(const PeerDraws&) = delete;

  // Does what Trial::TimeNs does, by the peer's clock. Throws PeerError, also
  // if the peer claims more time than has passed here, or hardly any of it.
  double TimeNs(std::span<const int> draws, Index first_trial, Index trials);

  // Page faults of all calls of TimeNs together; none if the peer tells none.
  std::optional<double> page_faults() const { return page_faults_; }

  // Asks for the outputs of a draw; their arrays go to `file`.
  OutputAnswer Output(int draw, const std::string& file);

 private:
  struct Took {
    Index trials = 0;
    double passed_ns = 0;  // here
    double told_ns = 0;    // as the peer says
  };

  void Prepare();
  void CheckUnit(const Took& call);

  Peer& peer_;
  const std::function<PrepareCall(const std::string&)> describe_;
  const std::int64_t number_;
  int generation_ = 0;  // of the process that holds the draws
  std::optional<double> page_faults_ = 0;
  Took last_;              // the last call
  int num_too_short_ = 0;  // calls in a row that tell hardly any of their time
};

class ArrayWriter;  // writes the file of a message

template <class Real>
class PeerCell {
 public:
  // All arguments outlive this. `mechanism` is asked for the parameters that
  // the cell reads.
  PeerCell(Peer& peer, const Cell& cell, const Config& config,
           const Mechanism<Real>& mechanism);

  // Whether a wrong output makes a wrong cell.
  bool must_agree() const;

  // `draws` outlives the result.
  std::unique_ptr<PeerDraws> Hold(
      const std::vector<std::vector<Sequence<Real>>>& draws);
  std::unique_ptr<PeerDraws> Hold(
      const std::vector<TrainingBatch<Real>>& draws);

  // Makes the contexts of a draw and gives the position of every output; empty
  // for mechanisms that choose no entry.
  std::vector<std::vector<Index>> Decode(std::span<const Sequence<Real>> batch);
  // Makes everything that the sequences ask for.
  void Train(std::span<const TrainingSequence<Real>> batch);

 private:
  using Batch = std::span<const TrainingSequence<Real>>;

  PrepareCall Describe(const std::vector<Batch>& draws,
                       const std::string& file);
  std::vector<SequenceAnswer> Run(Batch batch);
  ArrayPlaces Parameters(const Sequence<Real>& sequence, ArrayWriter& writer);

  Peer& peer_;
  const Cell& cell_;
  const Config& config_;
  const Mechanism<Real>& mechanism_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_PEER_CELL_H_
