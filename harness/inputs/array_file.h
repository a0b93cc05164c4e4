// Arrays of numbers from a user's own file: an array of numpy (.npy, format 1
// to 3), one of several (.npz), or an input of a case file (case_file.h). The
// format is numpy's, as its documentation of numpy.lib.format says; what needs
// Python to be read (objects) is refused and nothing of it is run.
#ifndef ATTNBENCH_HARNESS_INPUTS_ARRAY_FILE_H_
#define ATTNBENCH_HARNESS_INPUTS_ARRAY_FILE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "harness/base/arrays.h"

namespace attnbench {

inline constexpr std::size_t kMostArrayMebibytes = 4096;  // of a file

struct NumberArray {
  std::string place;           // the file, and the array's name if it has one
  std::vector<Index> shape;    // no length is 0
  std::vector<double> values;  // the last axis is the fastest
  std::vector<std::string> files = {};  // all that were read for it
};

// Reads FILE, or FILE:NAME. In an .npz or a case file it is the array NAME, or
// else the one called `name`; an .npy has no names. Whole numbers, booleans and
// f16 to f64 are taken, in either byte order; columns first (Fortran) are put
// in order. Throws UserError naming the file, and what ReadInput throws: no
// such array, another type, a header that is not as documented, fewer or more
// bytes than the shape says, no element.
NumberArray ReadArray(const std::string& text, const std::string& name);

// The names of the arrays of an .npz; none of an .npy. Throws as ReadArray.
std::vector<std::string> NamesOfArrays(const std::string& path);

// The file of FILE or FILE:NAME.
std::string FileOfArray(const std::string& text);

// "[3, 1, 7]" of element n, from 1.
std::string PlaceInArray(const std::vector<Index>& shape, std::size_t n);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_ARRAY_FILE_H_
