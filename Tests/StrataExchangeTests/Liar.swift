import StrataEngine
import StrataLocks

@testable import StrataExchange

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The other end of a line that says what it was told to say, whatever it is asked, and then nothing more.
final class Liar: LineEnds {
  let input: Int32
  let output: Int32
  private let theirs: (input: Int32, output: Int32)

  init(_ lines: [String]) throws {
    let (asked, told) = (Pipe(), Pipe())
    (input, output) = (asked.writeEnd, told.readEnd)
    theirs = (asked.readEnd, told.writeEnd)
    let writer = told.writeEnd
    let asks = asked.readEnd
    try startThread {
      let out = LineWriter(descriptor: writer, name: "liar")
      for line in lines {
        guard (try? out.add(Array("\(line)\n".utf8))) != nil, (try? out.flush()) != nil else { break }
      }
      close(writer)
      var bytes = [UInt8](repeating: 0, count: 1 << 12)
      while read(asks, &bytes, bytes.count) > 0 {}
      close(asks)
    }
  }

  deinit { close(input) }
  func end() {}
  func reason() -> String { "it went away" }
}

/// A line whose lines from the other side are noted.
final class Recorder: LineEnds {
  let input: Int32
  let output: Int32
  private let wire: any LineEnds

  init(_ wire: any LineEnds, note: @escaping @Sendable (String) -> Void) throws {
    self.wire = wire
    let pipe = Pipe()
    (input, output) = (wire.input, pipe.readEnd)
    let (from, to) = (wire.output, pipe.writeEnd)
    try startThread {
      let reader = LineReader(descriptor: from, name: "recorded")
      let writer = LineWriter(descriptor: to, name: "recorded")
      while let line = try? reader.next() {
        note(String(decoding: line, as: UTF8.self))
        guard (try? writer.add(line + [10])) != nil, (try? writer.flush()) != nil else { break }
      }
      close(to)
    }
  }

  func end() { wire.end() }
  func reason() -> String { wire.reason() }
}
