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

  /// A number of ours that is never negative.
  static func number(_ value: UInt64) -> SQLValue { .int(Int64(bitPattern: value)) }
  static func numbers(_ values: some Sequence<UInt64>) -> SQLValue { .ints(values.map { Int64(bitPattern: $0) }) }

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

  /// Appends the binary form; false for the null, which has none.
  func append(to bytes: inout [UInt8]) -> Bool {
    switch self {
    case .null: return false
    case .bool(let value): bytes.append(value ? 1 : 0)
    case .int(let value): Self.append(value, to: &bytes)
    case .int32(let value): Self.append(value, to: &bytes)
    case .bytes(let value): bytes += value
    case .text(let value): bytes += value.utf8
    case .ints(let values):
      Self.append(values, of: .int, to: &bytes) { value, bytes in
        guard let value else { return Self.append(Int32(-1), to: &bytes) }
        Self.append(Int32(8), to: &bytes)
        Self.append(value, to: &bytes)
      }
    case .int32s(let values):
      Self.append(values, of: .int32, to: &bytes) { value, bytes in
        Self.append(Int32(4), to: &bytes)
        Self.append(value, to: &bytes)
      }
    case .byteArrays(let values):
      Self.append(values, of: .bytes, to: &bytes) { value, bytes in
        Self.append(Int32(value?.count ?? -1), to: &bytes)
        if let value { bytes += value }
      }
    case .texts(let values):
      Self.append(values, of: .text, to: &bytes) { value, bytes in
        Self.append(Int32(value?.utf8.count ?? -1), to: &bytes)
        if let value { bytes += value.utf8 }
      }
    }
    return true
  }

  /// Appends a number as servers take it.
  static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// An array of one dimension: dimensions, whether there are nulls (there may be), type, length, lower bound; then each length and bytes.
  private static func append<Element>(
    _ values: [Element], of type: SQLType, to bytes: inout [UInt8], _ append: (Element, inout [UInt8]) -> Void
  ) {
    Self.append(Int32(values.isEmpty ? 0 : 1), to: &bytes)
    Self.append(Int32(values.isEmpty ? 0 : 1), to: &bytes)
    Self.append(type.rawValue, to: &bytes)
    guard !values.isEmpty else { return }
    Self.append(Int32(values.count), to: &bytes)
    Self.append(Int32(1), to: &bytes)
    for value in values { append(value, &bytes) }
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
