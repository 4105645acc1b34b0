/// One parameter of a statement, in the binary form that servers take.
struct SQLValue: Sendable {
  let type: SQLType
  /// Nil for a null.
  let binary: [UInt8]?

  private init(_ type: SQLType, _ binary: [UInt8]?) { (self.type, self.binary) = (type, binary) }

  private init(_ type: SQLType, _ value: some FixedWidthInteger) {
    var bytes: [UInt8] = []
    Self.append(value, to: &bytes)
    self.init(type, bytes)
  }

  /// An array of one dimension: dimensions, whether there are nulls (there may be), type, length, lower bound; then each length and bytes.
  private init<Element>(
    _ type: SQLType, of element: SQLType, _ values: [Element?], size: (Element) -> Int,
    _ append: (Element, inout [UInt8]) -> Void
  ) {
    var bytes: [UInt8] = []
    Self.append(Int32(values.isEmpty ? 0 : 1), to: &bytes)
    Self.append(Int32(values.isEmpty ? 0 : 1), to: &bytes)
    Self.append(element.rawValue, to: &bytes)
    if !values.isEmpty {
      Self.append(Int32(values.count), to: &bytes)
      Self.append(Int32(1), to: &bytes)
    }
    for value in values {
      Self.append(Int32(value.map(size) ?? -1), to: &bytes)
      if let value { append(value, &bytes) }
    }
    self.init(type, bytes)
  }

  static func null(_ type: SQLType) -> SQLValue { SQLValue(type, nil) }
  static func int(_ value: Int64) -> SQLValue { SQLValue(.int, value) }
  static func int32(_ value: Int32) -> SQLValue { SQLValue(.int32, value) }
  static func bytes(_ value: [UInt8]) -> SQLValue { SQLValue(.bytes, value) }
  static func text(_ value: String) -> SQLValue { SQLValue(.text, Array(value.utf8)) }

  /// A number of ours that is never negative.
  static func number(_ value: UInt64) -> SQLValue { .int(Int64(bitPattern: value)) }
  static func numbers(_ values: some Sequence<UInt64>) -> SQLValue { .ints(values.map { Int64(bitPattern: $0) }) }

  static func ints(_ values: [Int64?]) -> SQLValue {
    SQLValue(.ints, of: .int, values, size: { _ in 8 }) { append($0, to: &$1) }
  }
  static func int32s(_ values: [Int32?]) -> SQLValue {
    SQLValue(.int32s, of: .int32, values, size: { _ in 4 }) { append($0, to: &$1) }
  }
  static func byteArrays(_ values: [[UInt8]?]) -> SQLValue {
    SQLValue(.byteArrays, of: .bytes, values, size: \.count) { $1 += $0 }
  }
  static func texts(_ values: [String?]) -> SQLValue {
    SQLValue(.texts, of: .text, values, size: \.utf8.count) { $1 += $0.utf8 }
  }

  /// Appends a number as servers take it.
  static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }
}

/// The types that are used, with PostgreSQL's numbers for them.
enum SQLType: UInt32, Sendable {
  case bytes = 17
  case int = 20
  case int32 = 23
  case text = 25
  case byteArrays = 1001
  case int32s = 1007
  case texts = 1009
  case ints = 1016
}

struct Statement: Sendable {
  /// The name under which it is prepared once for each connection; nil if it is used too seldom for that.
  var name: String?
  var sql: String
  var parameters: [SQLValue] = []

  init(_ sql: String, name: String? = nil, _ parameters: SQLValue...) {
    (self.sql, self.name, self.parameters) = (sql, name, parameters)
  }
}
