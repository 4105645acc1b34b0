import Foundation
import Testing

@testable import StrataModel

/// What the fuzzer of key encodings begins from and what it has found. `STRATA_WRITE_CORPUS=1` writes the beginnings anew.
@Suite("Key fuzzer's corpus")
struct KeyCorpusTests {
  private static let folder = URL(filePath: #filePath).appending(path: "../../../Fuzz/Corpus/Key").standardizedFileURL

  @Test(
    "keys, typed texts, names of encodings and pairs",
    .disabled(if: ProcessInfo.processInfo.environment["STRATA_WRITE_CORPUS"] != nil))
  func replay() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).sorted()
    #expect(names.count >= 20)
    for name in names {
      let input = [UInt8](try Data(contentsOf: Self.folder.appending(path: name)))
      #expect(KeyFuzzTarget.run(input) == nil, "\(name)")
    }
  }

  @Test("random bytes of every kind", arguments: 0..<4 as Range<UInt8>)
  func random(_ kind: UInt8) {
    var random = SeededGenerator(seed: 60 + UInt64(kind))
    for round in 0..<4_000 {
      var input = [kind, UInt8(truncatingIfNeeded: round)]
      // The tags and the bytes that keys are made of come up often.
      let usual: [UInt8] = [0, 1, 2, 3, 0x0B, 0x14, 0x15, 0x1D, 0x20, 0x21, 0x24, 0x30, 0x31, 0x2D, 0x2E, 0x65, 0xFF]
      for _ in 0..<Int(random.next() % 24) {
        let byte = UInt8(truncatingIfNeeded: random.next() >> 8)
        input.append(random.next() % 2 == 0 ? usual[Int(random.next() % UInt64(usual.count))] : byte)
      }
      if let problem = KeyFuzzTarget.run(input) { Issue.record("\(input): \(problem)") }
    }
  }

  @Test("the beginnings are written", .enabled(if: ProcessInfo.processInfo.environment["STRATA_WRITE_CORPUS"] != nil))
  func write() throws {
    try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
    for (encoding, values) in KeyCodingTests.samples {
      guard let place = KeyFuzzTarget.encodings.firstIndex(of: encoding) else { continue }
      for (index, value) in values.enumerated() {
        let key = try encoding.encode(value)
        try save([0, UInt8(place)] + key, "key-\(place)-\(index)")
        try save([1, UInt8(place)] + Array(value.description.utf8), "text-\(place)-\(index)")
      }
      try save([2, 0] + Array(encoding.description.utf8), "name-\(place)")
    }
    for type in 0..<8 as Range<UInt8> { try save([3, type] + (0..<16).map { $0 &* 37 &+ type }, "pair-\(type)") }
  }

  private func save(_ bytes: [UInt8], _ name: String) throws {
    try Data(bytes).write(to: Self.folder.appending(path: name))
  }
}
