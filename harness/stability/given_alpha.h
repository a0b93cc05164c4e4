// Says how far an alpha that other code made is from the exact one of the same
// p or energies, and which published closed form it looks like.
//
// An output is wrong if the sum over the entries of |alpha - exact| is more
// than a share of its mass, the exact sum of alpha. A form is named if over all
// outputs it is within 1e-3 of the mass, and ten times nearer than the exact
// alpha, and with it all forms that are at most twice as far as the nearest:
// many clip nothing that tells them apart. An alpha within rounding of the
// exact one looks like none.
// attnbench.torch.check has the same rules.
#ifndef ATTNBENCH_HARNESS_STABILITY_GIVEN_ALPHA_H_
#define ATTNBENCH_HARNESS_STABILITY_GIVEN_ALPHA_H_

#include "harness/stability/diagnosis.h"

namespace attnbench {

// Of request.alpha, one table for each sequence.
DiagnosedAlpha DiagnoseAlpha(const DiagnosisRequest& request);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_GIVEN_ALPHA_H_
