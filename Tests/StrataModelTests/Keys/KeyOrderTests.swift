import StrataDocuments
import Foundation
import Testing

@testable import StrataModel

/// Byte order is the order of the values, for each type, alone, within tiers and descending.
struct KeyOrderTests {
  private func check<Value: Comparable>(
    _ values: [Value], _ append: (inout KeyEncoder, Value) -> Void, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let ascending = values.map { value in
      var encoder = KeyEncoder()
      append(&encoder, value)
      return encoder.bytes
    }
    let descending = values.map { value in
      var encoder = KeyEncoder()
      encoder.appendDescending { append(&$0, value) }
      return encoder.bytes
    }
    for left in values.indices {
      for right in values.indices {
        let isLess = values[left] < values[right]
        let less = ascending[left].lexicographicallyPrecedes(ascending[right])
        #expect(less == isLess, "\(values[left]) and \(values[right])", sourceLocation: sourceLocation)
        let greater = descending[right].lexicographicallyPrecedes(descending[left])
        #expect(greater == isLess, "descending \(values[left]) and \(values[right])", sourceLocation: sourceLocation)
        if values[left] == values[right] {
          #expect(ascending[left] == ascending[right], sourceLocation: sourceLocation)
        }
        // Whatever follows a value leaves its order alone.
        for follower: UInt8 in [0x01, 0x30, 0x80, 0xFE] where isLess {
          #expect(
            (ascending[left] + [follower]).lexicographicallyPrecedes(ascending[right] + [0x01]),
            sourceLocation: sourceLocation)
          #expect(
            (descending[right] + [follower]).lexicographicallyPrecedes(descending[left] + [0x01]),
            sourceLocation: sourceLocation)
        }
      }
    }
  }

  private func integers<Number: FixedWidthInteger>(_: Number.Type, seed: UInt64) -> [Number] {
    var random = SeededGenerator(seed: seed)
    var values: [Number] = [0, 1, .min, .max, .max - 1, .min + 1]
    for shift in stride(from: 0, to: Number.bitWidth, by: 7) {
      let power: Number = 1 << shift
      values += [power, power &- 1, 0 &- power, ~power]
    }
    for _ in 0..<40 {
      values.append(Number.random(in: .min ... .max, using: &random) >> Number.random(in: 0...7, using: &random))
    }
    return values
  }

  @Test("integers of every width keep their order")
  func integers() {
    check(integers(Int8.self, seed: 1)) { $0.append($1) }
    check(integers(Int16.self, seed: 2)) { $0.append($1) }
    check(integers(Int64.self, seed: 3)) { $0.append($1) }
    check(integers(Int128.self, seed: 4)) { $0.append($1) }
    check(integers(UInt8.self, seed: 5)) { $0.append($1) }
    check(integers(UInt64.self, seed: 6)) { $0.append($1) }
    check(integers(UInt128.self, seed: 7)) { $0.append($1) }
  }

  @Test("an integer has the same bytes in every width")
  func widths() throws {
    for value: Int8 in [-128, -1, 0, 1, 127] {
      var bytes: Set<[UInt8]> = []
      for append in [
        { (encoder: inout KeyEncoder) in encoder.append(value) }, { $0.append(Int64(value)) },
        { $0.append(Int(value)) },
        { $0.append(Int128(value)) },
      ] {
        var encoder = KeyEncoder()
        append(&encoder)
        bytes.insert(encoder.bytes)
      }
      #expect(bytes.count == 1)
      #expect(try bytes == [KeyEncoding.integer.encode(.integer(Int64(value)))])
    }
  }

  @Test("the example of the layout")
  func example() throws {
    let bytes = try KeyEncoding.compound([.string, .integer]).encode(.compound([.string("Ca"), .integer(300)]))
    #expect(bytes == [0x02, 0x43, 0x61, 0x00, 0x16, 0x01, 0x2C])
  }

  @Test("floating-point numbers keep their order, and zero is one")
  func floatingPoint() {
    var random = SeededGenerator(seed: 8)
    var doubles: [Double] = [
      0, -0.0, 1, -1, .infinity, -.infinity, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .greatestFiniteMagnitude,
      -.greatestFiniteMagnitude, .ulpOfOne, 1 + .ulpOfOne,
    ]
    while doubles.count < 80 {
      let value = Double(bitPattern: random.next())
      if !value.isNaN { doubles.append(value) }
    }
    check(doubles) { $0.append($1) }
    check(doubles) { $0.append(date: $1) }
    check(doubles.map { Float($0) }) { $0.append($1) }
  }

  @Test("what is not a number is one value and the last")
  func notANumber() throws {
    let infinity = try KeyEncoding.double.encode(.double(.infinity))
    let quiet = try KeyEncoding.double.encode(.double(.nan))
    let negative = try KeyEncoding.double.encode(.double(-Double.nan))
    let signalling = try KeyEncoding.double.encode(.double(.signalingNaN))
    #expect(infinity.lexicographicallyPrecedes(quiet))
    #expect(quiet == negative)
    #expect(quiet == signalling)
  }

  @Test("texts keep Swift's order", arguments: 1...8 as ClosedRange<UInt64>)
  func texts(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    check((0..<60).map { _ in random.text() }) { $0.append($1) }
  }

  @Test("the same characters in different compositions are one key")
  func compositions() throws {
    #expect(try KeyEncoding.string.encode(.string("e\u{301}")) == KeyEncoding.string.encode(.string("é")))
    #expect(try KeyEncoding.string.encode(.string("\u{212B}")) == KeyEncoding.string.encode(.string("Å")))
  }

  @Test("the look at the bytes never takes a text for composed that is not")
  func evidentForm() {
    for code in UInt32(0)...0x10FFFF {
      guard let scalar = Unicode.Scalar(code) else { continue }
      var text = String(Character(scalar))
      let isEvident = text.withUTF8 { NormalForm.isEvident($0) }
      guard isEvident else { continue }
      #expect(NormalForm.composed(text).utf8.elementsEqual(text.utf8), "\(code)")
      #expect(scalar.properties.canonicalCombiningClass == .notReordered, "\(code)")
      // Nothing that composes with what stands before it.
      for base in ["e", "\u{1100}", "가", "か"] where scalar.properties.isAlphabetic {
        #expect(NormalForm.composed(base + text).utf8.elementsEqual((base + text).utf8), "\(code)")
      }
    }
  }

  @Test("data and UUIDs keep their order as unsigned bytes")
  func bytes() {
    var random = SeededGenerator(seed: 9)
    let data = (0..<60).map { _ in OrderedBytes(bytes: random.bytes(upTo: 3).map { $0 & 1 == 0 ? 0 : $0 }) }
    check(data) { $0.append(data: $1.bytes) }
    let identifiers = (0..<40).map { index in
      UUIDBytes(high: index < 20 ? 7 : random.next(), low: random.next() >> (random.next() & 63))
    }
    check(identifiers) { $0.append($1) }
  }

  private struct OrderedBytes: Comparable {
    var bytes: [UInt8]
    static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
  }

  @Test("durations keep their order")
  func durations() {
    var random = SeededGenerator(seed: 10)
    var values: [Duration] = [
      .zero, .nanoseconds(1), .nanoseconds(-1), .seconds(1), .seconds(-1), .milliseconds(-1500),
    ]
    for _ in 0..<40 {
      values.append(
        Duration(
          secondsComponent: Int64(truncatingIfNeeded: random.next()) >> 8,
          attosecondsComponent: Int64(random.next() >> 5)))
    }
    check(values) { $0.append($1) }
  }

  @Test("decimal numbers keep Foundation's order")
  func decimals() throws {
    var random = SeededGenerator(seed: 11)
    var texts = [
      "0", "-0", "1", "-1", "10", "0.1", "-0.1", "0.10", "99", "100", "101", "1e20", "-1e20", "1e-20", "123456789.5",
    ]
    for _ in 0..<60 {
      let digits = String(random.next() >> (random.next() & 63))
      texts.append("\(Bool.random(using: &random) ? "-" : "")\(digits)e\(Int.random(in: -30...30, using: &random))")
    }
    let numbers = texts.compactMap { Decimal(string: $0) }
    #expect(numbers.count == texts.count)
    check(numbers) { $0.append(DecimalDigits("\($1)")) }
    let digits = texts.compactMap { DecimalDigits($0) }
    check(digits) { $0.append($1) }
    for (left, leftDigits) in zip(numbers, digits) {
      for (right, rightDigits) in zip(numbers, digits) { #expect((left < right) == (leftDigits < rightDigits)) }
    }
  }

  @Test("tiers count from the first, and null sorts first")
  func tiers() throws {
    let encoding = KeyEncoding.compound([.optional(.string), .descending(.integer), .descending(.optional(.string))])
    var random = SeededGenerator(seed: 12)
    var rows: [(String?, Int, String?)] = []
    for _ in 0..<70 {
      rows.append(
        (
          Bool.random(using: &random) ? nil : random.text(), Int.random(in: -2...2, using: &random),
          Bool.random(using: &random) ? nil : random.text()
        ))
    }
    let keys = try rows.map { row in
      try encoding.encode(
        .compound([row.0.map { .string($0) } ?? .null, .integer(Int64(row.1)), row.2.map { .string($0) } ?? .null]))
    }
    for left in rows.indices {
      for right in rows.indices {
        #expect(
          keys[left].lexicographicallyPrecedes(keys[right]) == precedes(rows[left], rows[right]),
          "\(rows[left]) \(rows[right])")
      }
    }
  }

  private func precedes(_ left: (String?, Int, String?), _ right: (String?, Int, String?)) -> Bool {
    if left.0 != right.0 { return isLess(left.0, right.0) }
    if left.1 != right.1 { return left.1 > right.1 }
    return isLess(right.2, left.2)
  }

  private func isLess(_ left: String?, _ right: String?) -> Bool {
    guard let right else { return false }
    return left.map { $0 < right } ?? true
  }

  @Test("bounds lie before and after all entries of a value, and of the first tiers")
  func bounds() throws {
    for encoding in [KeyEncoding.string, .descending(.string), .optional(.string)] {
      var random = SeededGenerator(seed: 13)
      for _ in 0..<1500 {
        let value = random.text()
        let other = random.text()
        let entry = try encoding.encode(.string(other)) + [0x14, 0x00, 0x01]
        let before = try encoding.bound(before: .string(value))
        let after = try encoding.bound(after: .string(value))
        let isDescending = encoding == .descending(.string)
        let isBefore = isDescending ? other > value : other < value
        #expect(entry.lexicographicallyPrecedes(before) == isBefore)
        #expect(entry.lexicographicallyPrecedes(after) == (isBefore || other == value))
      }
    }
    let encoding = KeyEncoding.compound([.string, .integer])
    let france = KeyValue.compound([.string("FR")])
    let paris = try encoding.encode(.compound([.string("FR"), .integer(75)]))
    #expect(try encoding.bound(before: france).lexicographicallyPrecedes(paris))
    #expect(try paris.lexicographicallyPrecedes(encoding.bound(after: france)))
    let germany = try encoding.encode(.compound([.string("FRA"), .integer(-5)]))
    #expect(try encoding.bound(after: france).lexicographicallyPrecedes(germany))
  }
}
