package import StorageEngine

/// How the keys of a tree are ordered: by their bytes, or by a comparison that only the app's types know.
package struct KeyOrder: Sendable {
  /// Makes the probe that places a key among those of the tree; nil: by bytes.
  package var placement: (@Sendable (_ key: [UInt8]) -> KeyProbe)?
  /// Whether the left key lies before the right one by the type's own `<`; where it is given, each inserted key is
  /// checked against both its neighbours.
  package var isAscending: (@Sendable (_ left: Bytes, _ right: Bytes) throws(ModelError) -> Bool)?

  package init(
    placement: (@Sendable (_ key: [UInt8]) -> KeyProbe)?,
    isAscending: (@Sendable (_ left: Bytes, _ right: Bytes) throws(ModelError) -> Bool)? = nil
  ) {
    self.placement = placement
    self.isAscending = isAscending
  }

  package static let bytes = KeyOrder(placement: nil)

  /// What engine calls take as `place`.
  func place(_ key: [UInt8]) -> KeyProbe? { placement?(key) }

  /// The probe that finds a key.
  func probe(_ key: [UInt8]) -> KeyProbe { placement?(key) ?? .bytes(key) }

  /// Throws `ModelError.disorder` where a key that was just inserted does not lie between its neighbours by the type's
  /// own `<`: a comparison that is no strict order, or bytes that disagree with it.
  func check(
    _ key: [UInt8], in name: TreeName, of transaction: WriteTransaction, datastore: String, index: String?,
    describe: (Bytes) -> String
  ) throws(ModelError) {
    guard let isAscending else { return }
    let (previous, own, next) = try neighbours(of: key, in: name, of: transaction)
    guard let own, own.array == key else {
      throw .disorder(datastore: datastore, index: index, keys: [describe(Bytes(key))])
    }
    var keys = [own]
    if let previous { keys.insert(previous, at: 0) }
    if let next { keys.append(next) }
    for (left, right) in zip(keys, keys.dropFirst()) where try !isAscending(left, right) {
      throw .disorder(datastore: datastore, index: index, keys: [describe(left), describe(right)])
    }
  }

  private func neighbours(
    of key: [UInt8], in name: TreeName, of transaction: WriteTransaction
  ) throws(ModelError) -> (previous: Bytes?, own: Bytes?, next: Bytes?) {
    try onStorage { () throws(StorageError) in
      guard let tree = try transaction.tree(name) else { return (nil, nil, nil) }
      var cursor = tree.cursor()
      try cursor.seek(to: probe(key))
      let own = cursor.current?.key
      var before = cursor
      if own != nil { try before.previous() }
      let previous = own == nil ? nil : before.current?.key
      if own != nil { try cursor.next() }
      return (previous, own, own == nil ? nil : cursor.current?.key)
    }
  }
}
