// What a process needs of the system before its work, and how it ends.
#ifndef ATTNBENCH_HARNESS_SYSTEM_PROCESS_START_H_
#define ATTNBENCH_HARNESS_SYSTEM_PROCESS_START_H_

namespace attnbench {

// A file that is opened while standard output or error is closed (2>&-) would
// take its number, and get what is printed.
void OpenStandardFiles();

// A trial frees its scratch arrays and the next one allocates them again.
// Memory that is handed back to the system in between comes back page by page,
// cleared: for large arrays that takes longer than the work. (-1 is no
// threshold at all; the largest int is one, of 2 GiB.)
void KeepFreedMemory();

// Throws UserError where the system allows so few open files, or so small a
// stack, that the program would end in the middle of its work without a
// message.
void CheckSystemLimits();

// Throws UserError where the address space has no place for a buffer of
// OpenBLAS.
void CheckAddressSpace();

// Ends the process, without exit() if a thread of OpenBLAS lacks its buffer:
// such a thread asks for ever, and exit() would wait for it.
[[noreturn]] void EndProcess(int code);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_PROCESS_START_H_
