// A stack of its own for signal handlers, in every thread that computes.
//
// A handler usually runs on the stack of the thread that it interrupts, from 128 bytes below the stack
// pointer on: nobody may keep anything further below. oneDNN's AVX-512 matrix product (2.6.3) does. A signal
// in its midst changed its pointers, and it wrote into other people's memory: of 60 runs that were stopped by
// SIGTERM while a dense layer was open, 4 ended with "corrupted size vs. prev_size".
#pragma once

namespace lwsvm {

// From now on handlers that were installed with SA_ONSTACK, as ours and Python's are, leave this thread's
// stack alone. Costs nothing after the first time; leaves an alternate stack that somebody else has set as it
// is.
void use_signal_stack();

// For threads of ours: nobody expects them to answer signals. Those that an instruction of the thread itself
// causes still come.
void block_signals();

}  // namespace lwsvm
