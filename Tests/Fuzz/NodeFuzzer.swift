/// libFuzzer calls this with what it made up; see `Tests/Fuzz/fuzz`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  FuzzTarget.node(Array(UnsafeBufferPointer(start: start, count: count)))
  return 0
}
