// The hook of gcc's -fsanitize-coverage=trace-pc, for programs that are not fuzz drivers.
extern "C" void __sanitizer_cov_trace_pc() {}
