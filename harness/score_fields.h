// The scores that a mechanism can start from, by the names that case files,
// results and Description::scores use: one table, so that none is forgotten
// where scores are given, read or differentiated by name.
#ifndef ATTNBENCH_HARNESS_SCORE_FIELDS_H_
#define ATTNBENCH_HARNESS_SCORE_FIELDS_H_

#include "mechanisms/mechanism.h"

namespace attnbench {

// A score, and where its gradient goes.
template <class Real>
struct ScoreField {
  const char* name;
  MatrixView<const Real> GivenScores<Real>::*given;
  MatrixView<Real> Gradients<Real>::*gradient;
};
template <class Real>
inline constexpr ScoreField<Real> kScoreFields[] = {
    {"p_choose", &GivenScores<Real>::p_choose, &Gradients<Real>::p_choose},
    {"energies", &GivenScores<Real>::energies, &Gradients<Real>::energies},
    {"chunk_energies", &GivenScores<Real>::chunk_energies,
     &Gradients<Real>::chunk_energies},
    {"encoder_scores", &GivenScores<Real>::encoder_scores,
     &Gradients<Real>::encoder_scores},
    {"decoder_scores", &GivenScores<Real>::decoder_scores,
     &Gradients<Real>::decoder_scores}};

// All scores, each the view that view(name) gives: without data where there is
// none.
template <class Real, class View>
GivenScores<Real> GivenScoresOf(const View& view) {
  GivenScores<Real> given;
  for (const ScoreField<Real>& field : kScoreFields<Real>) {
    given.*field.given = view(field.name);
  }
  return given;
}

// The same of where the gradients of scores go; no other gradient is wanted.
template <class Real, class View>
Gradients<Real> ScoreGradientsOf(const View& view) {
  Gradients<Real> gradients;
  for (const ScoreField<Real>& field : kScoreFields<Real>) {
    gradients.*field.gradient = view(field.name);
  }
  return gradients;
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SCORE_FIELDS_H_
