// The system's C library. A file that calls it imports this module instead.
#if canImport(Darwin)
  @_exported public import Darwin
#else
  @_exported public import Glibc
#endif
