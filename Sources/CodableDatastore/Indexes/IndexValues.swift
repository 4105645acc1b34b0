import StrataModel

/// The internal requirements of the library's own kinds of index, beyond the public protocols.
protocol IndexValues<Instance>: RetrievableIndexRepresentation {
  var kind: IndexKind { get }
  /// One per tier.
  var keyPaths: [any AnyKeyPath & Sendable] { get }
  /// Makes the function from an instance to the distinct keys of its values. It throws the error of the coder.
  func keys(by coder: KeyCoder<Value>) -> @Sendable (Instance) throws -> [[UInt8]]
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
  var keyPaths: [any AnyKeyPath & Sendable] { source.keyPaths }

  func keys(by coder: KeyCoder<Value>) -> @Sendable (Instance) throws -> [[UInt8]] { source.keys(by: coder) }
}

extension OneToOneIndexRepresentation: IndexValues {
  var kind: IndexKind { .oneToOne }
  var keyPaths: [any AnyKeyPath & Sendable] { source.keyPaths }

  func keys(by coder: KeyCoder<Value>) -> @Sendable (Instance) throws -> [[UInt8]] { source.keys(by: coder) }
}

extension ManyToManyIndexRepresentation: IndexValues {
  var kind: IndexKind { .manyToMany }
  var keyPaths: [any AnyKeyPath & Sendable] { [keypath] }

  func keys(by coder: KeyCoder<Value>) -> @Sendable (Instance) throws -> [[UInt8]] {
    { try Self.keys(of: $0[keyPath: keypath], by: coder) }
  }
}

extension ManyToOneIndexRepresentation: IndexValues {
  var kind: IndexKind { .manyToOne }
  var keyPaths: [any AnyKeyPath & Sendable] { [keypath] }

  func keys(by coder: KeyCoder<Value>) -> @Sendable (Instance) throws -> [[UInt8]] {
    { try Self.keys(of: $0[keyPath: keypath], by: coder) }
  }
}
