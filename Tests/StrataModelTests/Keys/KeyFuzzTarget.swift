import StrataDocuments
@testable import StrataModel

/// What the fuzzer of key encodings does with its bytes, and the tests with its corpus. Says what is wrong; nil: nothing.
///
/// The first byte says what the rest is: bytes of a key, what a person typed for one, the name of an encoding, or two values
/// that must keep their order. The second byte picks the encoding.
enum KeyFuzzTarget {
  static let encodings: [KeyEncoding] = [
    .bool, .integer, .unsigned, .double, .float, .string, .data, .uuid, .date, .decimal, .duration, .optional(.string),
    .descending(.integer), .compound([.string, .optional(.integer)]), .descending(.compound([.data, .decimal])),
    .compound([.descending(.optional(.string)), .duration, .double]), .comparator("Size"),
  ]

  static func run(_ input: [UInt8]) -> String? {
    guard input.count >= 2 else { return nil }
    let encoding = encodings[Int(input[1]) % encodings.count]
    let rest = Array(input.dropFirst(2))
    switch input[0] % 4 {
    case 0: return bytes(rest, as: encoding)
    case 1: return text(String(decoding: rest, as: UTF8.self), as: encoding)
    case 2: return name(String(decoding: rest, as: UTF8.self))
    default: return order(rest, of: Int(input[1]))
    }
  }

  // MARK: Round trips

  /// Bytes that are a key of the encoding are read as a value that has one key, which is read as the same value.
  private static func bytes(_ bytes: [UInt8], as encoding: KeyEncoding) -> String? {
    guard let value = try? encoding.decode(bytes) else { return nil }
    return roundTrip(value, encoding, "\(bytes) as \(encoding)")
  }

  /// What was typed and taken has a key, and is shown as a text that is taken for the same.
  private static func text(_ text: String, as encoding: KeyEncoding) -> String? {
    guard let value = try? encoding.parse(text) else { return nil }
    if let problem = roundTrip(value, encoding, "“\(text)” as \(encoding)", mayRefuse: true) { return problem }
    guard let key = try? encoding.encode(value), let shown = try? encoding.decode(key) else { return nil }
    guard let again = try? encoding.parse(shown.description) else {
      return "“\(text)” as \(encoding) is shown as \(shown.description), which is not taken"
    }
    guard let second = try? encoding.encode(again), second == key else {
      return "“\(text)” as \(encoding) is shown as \(shown.description), which has another key"
    }
    return nil
  }

  private static func roundTrip(
    _ value: KeyValue, _ encoding: KeyEncoding, _ what: String, mayRefuse: Bool = false
  ) -> String? {
    guard let key = try? encoding.encode(value) else { return mayRefuse ? nil : "\(what): \(value) has no key" }
    guard let read = try? encoding.decode(key) else { return "\(what): \(key), the key of \(value), is not read" }
    guard let again = try? encoding.encode(read), again == key else { return "\(what): \(value) has two keys" }
    guard encoding.isByteOrdered else { return nil }
    // Whatever follows a value, its bounds lie around it.
    guard let before = try? encoding.bound(before: value), let after = try? encoding.bound(after: value) else {
      return "\(what): \(value) has a key and no bounds"
    }
    for follower: UInt8 in [0x01, 0x30, 0xFE] {
      let entry = key + [follower]
      if entry.lexicographicallyPrecedes(before) || !entry.lexicographicallyPrecedes(after) {
        return "\(what): an entry of \(value) lies outside its bounds"
      }
    }
    return nil
  }

  private static func name(_ text: String) -> String? {
    guard let encoding = KeyEncoding(text) else { return nil }
    guard KeyEncoding(encoding.description) == encoding else {
      return "\(text) is described as \(encoding.description)"
    }
    return nil
  }

  // MARK: Order

  /// Two values of the type, out of the same bytes: the order of their keys is theirs, ascending and descending.
  private static func order(_ bytes: [UInt8], of type: Int) -> String? {
    let half = bytes.count / 2
    let (first, second) = (Array(bytes[..<half]), Array(bytes[half...]))
    switch type % 8 {
    case 0: return compare(Int64(bitPattern: number(first)), Int64(bitPattern: number(second))) { $0.append($1) }
    case 1: return compare(number(first), number(second)) { $0.append($1) }
    case 2:
      let (left, right) = (Double(bitPattern: number(first)), Double(bitPattern: number(second)))
      return left.isNaN || right.isNaN ? nil : compare(left, right) { $0.append($1) }
    case 3:
      let left = Float(bitPattern: UInt32(truncatingIfNeeded: number(first)))
      let right = Float(bitPattern: UInt32(truncatingIfNeeded: number(second)))
      return left.isNaN || right.isNaN ? nil : compare(left, right) { $0.append($1) }
    case 4:
      // The order of a store's texts is that of the bytes of their normal form, not always that of `<`.
      let left = NormalForm.composed(String(decoding: first, as: UTF8.self))
      let right = NormalForm.composed(String(decoding: second, as: UTF8.self))
      return compare(Text(value: left), Text(value: right)) { $0.append($1.value) }
    case 5: return compare(Bytes(value: first), Bytes(value: second)) { $0.append(data: $1.value) }
    case 6:
      let left = Int128(number(first)) << 40 ^ Int128(Int64(bitPattern: number(second)))
      let right = Int128(Int64(bitPattern: number(second))) << 30
      return compare(left, right) { $0.append(attoseconds: $1) }
    default:
      let (left, right) = (decimal(first), decimal(second))
      guard let left, let right, abs(left.exponent) < 0x7FFF, abs(right.exponent) < 0x7FFF else { return nil }
      return compare(left, right) { $0.append($1) }
    }
  }

  private struct Text: Comparable {
    var value: String
    static func < (left: Self, right: Self) -> Bool { left.value.utf8.lexicographicallyPrecedes(right.value.utf8) }
    static func == (left: Self, right: Self) -> Bool { left.value.utf8.elementsEqual(right.value.utf8) }
  }

  private struct Bytes: Comparable {
    var value: [UInt8]
    static func < (left: Self, right: Self) -> Bool { left.value.lexicographicallyPrecedes(right.value) }
  }

  private static func compare<Value: Comparable>(
    _ left: Value, _ right: Value, _ append: (inout KeyEncoder, Value) -> Void
  ) -> String? {
    func key(_ value: Value) -> [UInt8] {
      var encoder = KeyEncoder()
      append(&encoder, value)
      return encoder.bytes
    }
    func descending(_ value: Value) -> [UInt8] {
      var encoder = KeyEncoder()
      encoder.appendDescending { append(&$0, value) }
      return encoder.bytes
    }
    let (first, second) = (key(left), key(right))
    guard first.lexicographicallyPrecedes(second) == (left < right), (first == second) == (left == right) else {
      return "\(left) and \(right) are ordered otherwise than \(first) and \(second)"
    }
    guard descending(right).lexicographicallyPrecedes(descending(left)) == (left < right) else {
      return "\(left) and \(right), descending, are ordered otherwise than their keys"
    }
    return nil
  }

  private static func number(_ bytes: [UInt8]) -> UInt64 { bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

  private static func decimal(_ bytes: [UInt8]) -> DecimalDigits? {
    guard bytes.count >= 3 else { return nil }
    let scale = Int(Int16(truncatingIfNeeded: Int(bytes[1]) << 8 | Int(bytes[2])))
    return DecimalDigits(
      isNegative: bytes[0] & 1 == 1, coefficient: bytes.dropFirst(3).prefix(40).map { $0 % 10 }, scale: scale)
  }
}
