import Glibc

/// Which of the model's targets is fuzzed, as `Tests/Fuzz/fuzz` says.
private let target = getenv("STRATA_FUZZ").map { String(cString: $0) }

/// libFuzzer calls this with what it made up; see `Tests/Fuzz/fuzz`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: start, count: count))
  let problem = target == "Document" ? DocumentFuzzTarget.run(input) : KeyFuzzTarget.run(input)
  if let problem { fatalError(problem) }
  return 0
}
