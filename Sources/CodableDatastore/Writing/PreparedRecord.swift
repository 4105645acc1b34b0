import StrataEngine

/// The record and the keys of an instance, computed before anything is written.
struct PreparedRecord<Identifier: Sendable>: Sendable {
  var identifier: Identifier
  var key: [UInt8]
  var record: [UInt8]
  /// The keys of its values, per index.
  var values: [[[UInt8]]]
  /// Whether the instance names another identifier as its own.
  var isForeign = false
}

struct StoredRecord<Instance: Sendable>: Sendable {
  var record: Bytes
  /// The error is that of a record that does not decode.
  var instance: Result<Instance, any Error>
  /// The keys of its values, per index; nil if they are unknown.
  var values: [[[UInt8]]]?
}
