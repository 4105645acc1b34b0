import Testing

@testable import StrataModel

/// Some tiers of compound values, read by themselves.
struct KeyTiersTests {
  @Test(
    "values in the order of an index give the same tiers as values decoded alone, and say if the first tier is the same"
  )
  func sequences() throws {
    var random = SeededGenerator(seed: 39)
    for (first, firsts) in KeyCodingTests.samples {
      if case .compound = first { continue }
      for (second, seconds) in KeyCodingTests.samples.prefix(8) {
        let encoding = KeyEncoding.compound([first, second])
        if case .comparator = first { continue }
        let values = firsts.flatMap { first in seconds.map { KeyValue.compound([first, $0]) } }
          .sorted { Self.bytes($0, encoding).lexicographicallyPrecedes(Self.bytes($1, encoding)) }
        let wanted = [[0, 1], [1, 0], [1], [0]].randomElement(using: &random) ?? [0]
        let tiers = try #require(KeyTiers(encoding, tierCount: 2, reading: wanted))
        var (before, answer, last) = ([UInt8](), wanted.map { _ in KeyValue.null }, KeyValue?.none)
        for value in values {
          guard case .compound(let parts) = value else { continue }
          let read = try encoding.encode(value).withUnsafeBytes { tiers.readNext($0, after: &before, into: &answer) }
          #expect(read.isValue && read.hasSameFirst == (last == parts[0]), "\(encoding) \(value)")
          #expect(answer == wanted.map { parts[$0] }, "\(encoding) \(value)")
          last = parts[0]
        }
      }
    }
  }

  private static func bytes(_ value: KeyValue, _ encoding: KeyEncoding) -> [UInt8] {
    (try? encoding.encode(value)) ?? []
  }

  @Test("a cut value is refused, also behind the same first tier")
  func cutValues() throws {
    let encoding = KeyEncoding.compound([.string, .integer])
    let tiers = try #require(KeyTiers(encoding, tierCount: 2, reading: [0, 1]))
    let whole = try encoding.encode(.compound([.string("US"), .integer(70_000)]))
    var (before, answer) = ([UInt8](), [KeyValue.null, .null])
    #expect(whole.withUnsafeBytes { tiers.readNext($0, after: &before, into: &answer) }.isValue)
    for length in 0..<whole.count {
      let read = Array(whole[..<length]).withUnsafeBytes { tiers.readNext($0, after: &before, into: &answer) }
      #expect(!read.isValue, "\(length) bytes")
    }
  }
}
