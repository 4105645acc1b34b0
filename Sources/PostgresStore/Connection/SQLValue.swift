/// One parameter of a statement, in the binary form that servers take.
enum SQLValue: Sendable {
  case null(SQLType)
  case bool(Bool)
  case int(Int64)
  case int32(Int32)
  case bytes([UInt8])
  case text(String)
  case ints([Int64?])
  case int32s([Int32])
  case byteArrays([[UInt8]?])
  case texts([String?])

  var type: SQLType {
    switch self {
    case .null(let type): type
    case .bool: .bool
    case .int: .int
    case .int32: .int32
    case .bytes: .bytes
    case .text: .text
    case .ints: .ints
    case .int32s: .int32s
    case .byteArrays: .byteArrays
    case .texts: .texts
    }
  }

  /// Nil for the null.
  var encoded: [UInt8]? {
    switch self {
    case .null: nil
    case .bool(let value): [value ? 1 : 0]
    case .int(let value): Self.bigEndian(value)
    case .int32(let value): Self.bigEndian(value)
    case .bytes(let value): value
    case .text(let value): Array(value.utf8)
    case .ints(let values): Self.array(values, of: .int) { Self.bigEndian($0) }
    case .int32s(let values): Self.array(values, of: .int32) { Self.bigEndian($0) }
    case .byteArrays(let values): Self.array(values, of: .bytes) { $0 }
    case .texts(let values): Self.array(values, of: .text) { Array($0.utf8) }
    }
  }

  static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }

  /// An array of one dimension: dimensions, whether there are nulls, type, length, lower bound; then each length and bytes.
  private static func array<Element>(
    _ values: [Element?], of type: SQLType, _ encode: (Element) -> [UInt8]
  ) -> [UInt8] {
    var bytes = bigEndian(Int32(values.isEmpty ? 0 : 1))
    bytes += bigEndian(Int32(values.contains { $0 == nil } ? 1 : 0))
    bytes += bigEndian(type.rawValue)
    guard !values.isEmpty else { return bytes }
    bytes += bigEndian(Int32(values.count))
    bytes += bigEndian(Int32(1))
    for value in values {
      guard let value else {
        bytes += bigEndian(Int32(-1))
        continue
      }
      let element = encode(value)
      bytes += bigEndian(Int32(element.count))
      bytes += element
    }
    return bytes
  }
}

/// The types that are used, by the numbers that PostgreSQL gives them.
enum SQLType: UInt32, Sendable {
  case bool = 16
  case bytes = 17
  case int = 20
  case int32 = 23
  case text = 25
  case byteArrays = 1001
  case int32s = 1007
  case texts = 1009
  case ints = 1016
}

/// One statement of an exchange.
struct Statement: Sendable {
  /// By which it is prepared once for each connection; nil where it is used so seldom that it is not.
  var name: String?
  var sql: String
  var parameters: [SQLValue] = []

  init(_ sql: String, name: String? = nil, _ parameters: SQLValue...) {
    (self.sql, self.name, self.parameters) = (sql, name, parameters)
  }
}
