import StrataModel

/// The internal requirements of the library's own kinds of index, beyond the public protocols.
protocol IndexValues<Instance>: RetrievableIndexRepresentation {
  var kind: IndexKind { get }
  /// One per tier.
  var keyPaths: [AnyKeyPath] { get }
  /// The distinct keys of an instance's values. Throws the error of the coder.
  func keys(of instance: Instance, by coder: KeyCoder<Value>) throws -> [[UInt8]]
}

extension IndexValues {
  /// The distinct keys of values, some of which may be repeated.
  static func keys(of values: some Sequence<Value>, by coder: KeyCoder<Value>) throws -> [[UInt8]] {
    let keys = try values.map { try coder.key(of: $0) }
    return keys.count > 1 ? Array(Set(keys)) : keys
  }
}

extension OneToManyIndexRepresentation: IndexValues {
  var kind: IndexKind { .oneToMany }
  var keyPaths: [AnyKeyPath] { source.keyPaths }

  func keys(of instance: Instance, by coder: KeyCoder<Value>) throws -> [[UInt8]] {
    [try coder.key(of: source.value(instance))]
  }
}

extension OneToOneIndexRepresentation: IndexValues {
  var kind: IndexKind { .oneToOne }
  var keyPaths: [AnyKeyPath] { source.keyPaths }

  func keys(of instance: Instance, by coder: KeyCoder<Value>) throws -> [[UInt8]] {
    [try coder.key(of: source.value(instance))]
  }
}

extension ManyToManyIndexRepresentation: IndexValues {
  var kind: IndexKind { .manyToMany }
  var keyPaths: [AnyKeyPath] { [keypath] }

  func keys(of instance: Instance, by coder: KeyCoder<Value>) throws -> [[UInt8]] {
    try Self.keys(of: instance[keyPath: keypath], by: coder)
  }
}

extension ManyToOneIndexRepresentation: IndexValues {
  var kind: IndexKind { .manyToOne }
  var keyPaths: [AnyKeyPath] { [keypath] }

  func keys(of instance: Instance, by coder: KeyCoder<Value>) throws -> [[UInt8]] {
    try Self.keys(of: instance[keyPath: keypath], by: coder)
  }
}
