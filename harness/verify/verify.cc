#include "harness/verify/verify.h"

#include <exception>

#include "harness/verify/enumeration.h"
#include "harness/verify/sampling.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

void Compare(const Mechanism<double>& mechanism, const VerifyOptions& options,
             CaseReport& report) {
  VerifySubject subject(mechanism, report.verify_case, options.seed);
  const Trained trained = subject.Train();
  switch (report.verify_case.method) {
    case VerifyMethod::kExact:
      report.trials = 1;
      CompareWithDecoded(subject, trained, report.quantities);
      return;
    case VerifyMethod::kEnumeration:
      report.trials = CompareWithOutcomes(subject, trained, report.quantities);
      return;
    case VerifyMethod::kSampling:
      report.trials = options.trials;
      report.chi_square = CompareWithTrials(subject, trained, options.trials,
                                            report.quantities);
      CompareBothModes(trained, report.quantities);
      if (!report.verify_case.from_states) return;
      CompareWithDifferences(
          subject, trained, [&subject] { return subject.ExpectedLoss(); },
          report.quantities);
      return;
  }
}

}  // namespace

CaseReport RunVerifyCase(const Mechanism<double>& mechanism,
                         const VerifyCase& verify_case,
                         const VerifyOptions& options) {
  CaseReport report;
  report.verify_case = verify_case;
  try {
    Compare(mechanism, options, report);
  } catch (const std::exception& error) {
    report.failure = error.what();
  }
  return report;
}

std::vector<CaseReport> RunVerifyCases(
    const std::vector<VerifyCase>& cases, const VerifyOptions& options,
    const std::function<void(std::size_t finished)>& on_finished) {
  std::vector<CaseReport> reports(cases.size());
  std::size_t finished = 0;
  // Threads share out whole cases, so that no sum depends on their number.
#pragma omp parallel for num_threads(options.threads) schedule(dynamic)
  for (std::size_t n = 0; n < cases.size(); ++n) {
    reports[n] = RunVerifyCase(*FindMechanism<double>(cases[n].mechanism),
                               cases[n], options);
#pragma omp critical(attnbench_verify_finished)
    on_finished(++finished);
  }
  return reports;
}

}  // namespace attnbench
