import Glibc

@testable import StrataEngine

/// Which of the engine's targets is fuzzed, as `Tests/Fuzz/fuzz` says.
private let target = getenv("STRATA_FUZZ").map { String(cString: $0) }

/// libFuzzer calls this with what it made up.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: start, count: count))
  switch target {
  case "File": FuzzTarget.file(input)
  case "Node": FuzzTarget.node(input)
  case "Part": FuzzTarget.parts(input)
  case "Block": FuzzTarget.block(input)
  default: fatalError("STRATA_FUZZ is File, Node, Part or Block")
  }
  return 0
}
