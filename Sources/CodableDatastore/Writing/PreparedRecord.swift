import StorageEngine

/// All that an instance comes to, worked out before anything is written.
struct PreparedRecord<Identifier: Sendable>: Sendable {
  var identifier: Identifier
  var key: [UInt8]
  var record: [UInt8]
  /// The keys of its values, per index.
  var values: [[[UInt8]]]
  /// Whether the instance names another identifier as its own.
  var isForeign = false
}

/// A record that is there.
struct StoredRecord<Instance: Sendable>: Sendable {
  var record: Bytes
  /// The error is that of a record that a warm-up left out.
  var instance: Result<Instance, any Error>
  /// The keys of its values, per index; nil where they cannot be told.
  var values: [[[UInt8]]]?
}
