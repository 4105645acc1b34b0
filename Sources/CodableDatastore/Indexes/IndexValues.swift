import StrataModel

/// The internal requirements of the library's own kinds of index, beyond the public protocols.
protocol IndexValues: RetrievableIndexRepresentation {
  var kind: IndexKind { get }
  /// One per tier.
  var keyPaths: [AnyKeyPath] { get }
  /// Calls `body` with each value of an instance, possibly repeated.
  func forEachValue(of instance: Instance, _ body: (Value) throws -> Void) rethrows
}

extension OneToManyIndexRepresentation: IndexValues {
  var kind: IndexKind { .oneToMany }
  var keyPaths: [AnyKeyPath] { source.keyPaths }

  func forEachValue(of instance: Instance, _ body: (Value) throws -> Void) rethrows {
    try body(source.value(instance))
  }
}

extension OneToOneIndexRepresentation: IndexValues {
  var kind: IndexKind { .oneToOne }
  var keyPaths: [AnyKeyPath] { source.keyPaths }

  func forEachValue(of instance: Instance, _ body: (Value) throws -> Void) rethrows {
    try body(source.value(instance))
  }
}

extension ManyToManyIndexRepresentation: IndexValues {
  var kind: IndexKind { .manyToMany }
  var keyPaths: [AnyKeyPath] { [keypath] }

  func forEachValue(of instance: Instance, _ body: (Value) throws -> Void) rethrows {
    for value in instance[keyPath: keypath] { try body(value) }
  }
}

extension ManyToOneIndexRepresentation: IndexValues {
  var kind: IndexKind { .manyToOne }
  var keyPaths: [AnyKeyPath] { [keypath] }

  func forEachValue(of instance: Instance, _ body: (Value) throws -> Void) rethrows {
    for value in instance[keyPath: keypath] { try body(value) }
  }
}
