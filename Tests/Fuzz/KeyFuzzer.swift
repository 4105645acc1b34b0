/// libFuzzer calls this with what it made up; see `Tests/Fuzz/fuzz`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  if let problem = KeyFuzzTarget.run(Array(UnsafeBufferPointer(start: start, count: count))) { fatalError(problem) }
  return 0
}
