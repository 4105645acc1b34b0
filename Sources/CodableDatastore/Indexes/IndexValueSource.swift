/// The source of an instance's one value in an index: a property, or several properties together.
struct IndexValueSource<Instance: Sendable, Value: Sendable>: Sendable, Hashable {
  /// One per tier; equality of indexes is equality of these.
  let keyPaths: [any PartialKeyPath<Instance> & Sendable]
  let value: @Sendable (Instance) -> Value

  init(_ keyPath: KeyPath<Instance, Value>) {
    // A key path between `Sendable` types is immutable and may be sent, see `Indexable.swift`.
    let keyPath = keyPath as any KeyPath<Instance, Value> & Sendable
    keyPaths = [keyPath]
    // A stored property is read where it lies: walking a key path takes several times as long.
    if let offset = MemoryLayout<Instance>.offset(of: keyPath) {
      value = { withUnsafePointer(to: $0) { UnsafeRawPointer($0).load(fromByteOffset: offset, as: Value.self) } }
    } else {
      value = { $0[keyPath: keyPath] }
    }
  }

  init(keyPaths: [any PartialKeyPath<Instance> & Sendable], value: @escaping @Sendable (Instance) -> Value) {
    self.keyPaths = keyPaths
    self.value = value
  }

  /// Makes the function from an instance to the key of its value. It holds closures only: with the coder and this source in it, their
  /// types would be looked up for each instance.
  func keys(by coder: KeyCoder<Value>) -> @Sendable (Instance) throws -> [[UInt8]] where Value: Indexable {
    { [value, encode = coder.encode] in [try encode(value($0))] }
  }

  static func == (left: Self, right: Self) -> Bool { left.keyPaths == right.keyPaths }

  func hash(into hasher: inout Hasher) { hasher.combine(keyPaths as [AnyKeyPath]) }
}
