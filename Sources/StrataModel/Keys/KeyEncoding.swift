import StrataDocuments

/// How the identifiers or index values of a tree lie in it as bytes.
///
/// All but `comparator` keep the order of the values as the order of their bytes (see `KeyEncoder` for the layout), so
/// any tool can search, count and insert. Keys of a `comparator` encoding are canonical JSON whose order only the app
/// knows: they can be walked and compared for equality.
package indirect enum KeyEncoding: Hashable, Sendable, CustomStringConvertible {
  case bool
  /// Signed and unsigned integers of every width share one scale.
  case integer
  case unsigned
  case double
  case float
  case string
  case data
  case uuid
  case date
  case decimal
  case duration
  /// Null sorts first. An optional of an optional is one optional.
  case optional(KeyEncoding)
  /// Tiers of a fixed number; the first counts most.
  case compound([KeyEncoding])
  case descending(KeyEncoding)
  /// Canonical JSON of a value of this Swift type.
  case comparator(String)

  /// Whether byte order is the order of the values.
  package var isByteOrdered: Bool {
    switch self {
    case .comparator: false
    case .optional(let inner), .descending(let inner): inner.isByteOrdered
    case .compound(let tiers): tiers.allSatisfy(\.isByteOrdered)
    default: true
    }
  }

  /// The bytes of a value. Takes what converts without loss (an integer for a double, text for a UUID or a date);
  /// throws `ModelError.invalid` for anything else.
  package func encode(_ value: KeyValue) throws(ModelError) -> [UInt8] {
    if case .comparator = self { return value.document.canonicalBytes }
    var encoder =
      if case .string(let text) = value { KeyEncoder(reservingCapacity: text.utf8.count + 2) } else { KeyEncoder() }
    try append(value, to: &encoder)
    return encoder.bytes
  }

  /// The value of bytes that this encoding made; throws `ModelError.unreadable` for any other bytes, never traps.
  package func decode(_ bytes: [UInt8]) throws(ModelError) -> KeyValue {
    let decoded: KeyValue? = bytes.withUnsafeBytes { decode($0) }
    guard let decoded else { throw unreadable(bytes) }
    return decoded
  }

  /// The value of bytes that this encoding made, or nil.
  package func decode(_ bytes: UnsafeRawBufferPointer) -> KeyValue? {
    if case .comparator = self {
      guard let document = try? JSONParser.parse(bytes) else { return nil }
      return .document(document)
    }
    var decoder = KeyDecoder(bytes)
    guard let value = decoder.next(self), decoder.isAtEnd else { return nil }
    return value
  }

  /// A probe that lies before every key of this value and after every key of a lesser one. Of a compound value the
  /// first tiers suffice.
  package func bound(before value: KeyValue) throws(ModelError) -> [UInt8] {
    var encoder = KeyEncoder()
    try appendTiers(value, to: &encoder)
    return encoder.bytes
  }

  /// A probe that lies after every key that begins with this value, whatever follows it (an identifier, further tiers),
  /// and before every key of a greater one.
  package func bound(after value: KeyValue) throws(ModelError) -> [UInt8] {
    var bytes = try bound(before: value)
    bytes.append(0xFF)
    return bytes
  }

  private func appendTiers(_ value: KeyValue, to encoder: inout KeyEncoder) throws(ModelError) {
    switch (self, value) {
    case (.comparator(let type), _):
      throw .refused(reason: "the order of \(type) is known only to the app")
    case (.compound(let tiers), .compound(let values)) where values.count <= tiers.count:
      for (tier, value) in zip(tiers, values) { try tier.append(value, to: &encoder) }
    case (.descending(let inner), .compound(let values)):
      try encoder.appendDescending(isWhole: inner.tierCount == values.count) { encoder throws(ModelError) in
        try inner.appendTiers(value, to: &encoder)
      }
    default: try append(value, to: &encoder)
    }
  }

  private var tierCount: Int {
    if case .compound(let tiers) = self { tiers.count } else { 1 }
  }

  private func unreadable(_ bytes: [UInt8]) -> ModelError {
    var shown = "0x"
    for byte in bytes.prefix(32) { Hexadecimal.append(byte, to: &shown) }
    return .unreadable(what: "a key", where: "\(shown)\(bytes.count > 32 ? "…" : "") is not of the type \(self)")
  }

  /// `integer`, `optional(string)`, `compound(string,integer)`, `comparator(Size)`: what descriptors store.
  package var description: String {
    switch self {
    case .bool: "bool"
    case .integer: "integer"
    case .unsigned: "unsigned"
    case .double: "double"
    case .float: "float"
    case .string: "string"
    case .data: "data"
    case .uuid: "uuid"
    case .date: "date"
    case .decimal: "decimal"
    case .duration: "duration"
    case .optional(let inner): "optional(\(inner))"
    case .descending(let inner): "descending(\(inner))"
    case .compound(let tiers): "compound(\(tiers.map(\.description).joined(separator: ",")))"
    case .comparator(let type): "comparator(\(type))"
    }
  }

  /// Reads a `description`; nil for anything else.
  package init?(_ description: some StringProtocol) {
    self.init(Substring(description), depth: 0)
  }

  private init?(_ text: Substring, depth: Int) {
    guard depth < 16 else { return nil }
    guard let open = text.firstIndex(of: "(") else {
      guard let plain = Self.plain[String(text)] else { return nil }
      self = plain
      return
    }
    guard text.last == ")" else { return nil }
    let inside = text[text.index(after: open)...].dropLast()
    switch text[..<open] {
    case "comparator": self = .comparator(String(inside))
    case "optional":
      guard let inner = Self(inside, depth: depth + 1) else { return nil }
      self = .optional(inner)
    case "descending":
      guard let inner = Self(inside, depth: depth + 1) else { return nil }
      self = .descending(inner)
    case "compound":
      var tiers: [KeyEncoding] = []
      for part in Self.splitAtCommas(inside) {
        guard let tier = Self(part, depth: depth + 1) else { return nil }
        tiers.append(tier)
      }
      self = .compound(tiers)
    default: return nil
    }
  }

  private static let plain: [String: KeyEncoding] = {
    let all: [KeyEncoding] = [
      .bool, .integer, .unsigned, .double, .float, .string, .data, .uuid, .date, .decimal, .duration,
    ]
    return Dictionary(uniqueKeysWithValues: all.map { ($0.description, $0) })
  }()

  private static func splitAtCommas(_ text: Substring) -> [Substring] {
    var parts: [Substring] = []
    var depth = 0
    var start = text.startIndex
    for index in text.indices {
      switch text[index] {
      case "(": depth += 1
      case ")": depth -= 1
      case "," where depth == 0:
        parts.append(text[start..<index])
        start = text.index(after: index)
      default: break
      }
    }
    if !text.isEmpty { parts.append(text[start...]) }
    return parts
  }
}
