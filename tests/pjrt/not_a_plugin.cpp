// A shared library without GetPjrtApi.
extern "C" int not_a_plugin() { return 1; }
