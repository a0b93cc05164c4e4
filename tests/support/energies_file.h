// A file of numpy's in a folder of its own, as the workload captured:FILE reads
// it.
#ifndef ATTNBENCH_TESTS_SUPPORT_ENERGIES_FILE_H_
#define ATTNBENCH_TESTS_SUPPORT_ENERGIES_FILE_H_

#include <fmt/format.h>

#include <fstream>
#include <string>
#include <vector>

#include "harness/system/temporary_folder.h"

namespace attnbench::testing {

// Two sequences of two outputs and three entries.
class EnergiesFile {
 public:
  EnergiesFile() {
    const std::string header =
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 3), }\n";
    std::ofstream file(path(), std::ios::binary);
    file << "\x93NUMPY\x01" << '\0' << static_cast<char>(header.size()) << '\0'
         << header;
    file.write(reinterpret_cast<const char*>(energies().data()),
               static_cast<std::streamsize>(4 * energies().size()));
  }

  std::string path() const { return folder_.path() + "/energies.npy"; }
  std::string workload() const { return "captured:" + path(); }
  static const std::vector<float>& energies() {
    static const std::vector<float> values = {1, -2, 3, -4, 5, -6,
                                              7, -8, 9, -1, 2, -3};
    return values;
  }

 private:
  const TemporaryFolder folder_;
};

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_ENERGIES_FILE_H_
