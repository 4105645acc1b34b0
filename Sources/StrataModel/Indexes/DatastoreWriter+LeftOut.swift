import StrataEngine

/// The list of the records that are left out of indexes, with the reasons.
extension DatastoreWriter {
  /// Whether a record was left out of the indexes by a warm-up.
  package func isLeftOut(_ identifier: [UInt8]) throws -> Bool {
    guard let tree = try leftOut() else { return false }
    return try recordOrder.place(of: identifier).withProbe { try tree.payload($0) != nil }
  }

  /// Notes that a record is in no index, because it cannot be read, with the reason.
  package func leaveOut(_ identifier: [UInt8], _ reason: String) throws {
    let name = TreeName.leftOut(of: descriptor.key)
    if try transaction.tree(name) == nil {
      try transaction.createTree(name, kind: .entries, order: recordOrder.treeOrder, attributes: [])
    }
    hasLeftOut = true
    let reason = Payload.bytes(Bytes(Array(reason.utf8.prefix(Limits.payload))))
    _ = try recordOrder.place(of: identifier).withProbe { probe in
      try transaction.insert(identifier, reason, in: name, probe: recordOrder.isBytes ? nil : probe)
    }
  }

  /// Notes that a record is whole again, or gone.
  func removeFromLeftOut(_ identifier: [UInt8]) throws {
    guard hasLeftOut ?? true, try leftOut() != nil else { return }
    let name = TreeName.leftOut(of: descriptor.key)
    _ = try recordOrder.place(of: identifier).withProbe { probe in
      try transaction.remove(identifier, in: name, probe: recordOrder.isBytes ? nil : probe)
    }
    if try transaction.tree(name)?.isEmpty == true {
      try transaction.dropTree(name)
      hasLeftOut = false
    }
  }

  /// Notes that a record is not in an index, which cannot take it, with the reason.
  func leaveOut(_ identifier: [UInt8], of index: String, _ reason: String) throws {
    let known = try recordOrder.place(of: identifier).withProbe { try leftOut()?.payload($0) }
    let mark = Self.mark(ofIndex: index)
    let isAlone = if case .bytes(let text)? = known { text.array.starts(with: mark.utf8) } else { known == nil }
    // Only writing the record takes it from a list where it stands for more than one index.
    try leaveOut(identifier, isAlone ? mark + reason : "several indexes, last \(mark)\(reason)")
  }

  private static func mark(ofIndex name: String) -> String { "index \(name): " }

  /// Takes the records from the list that are there for one index alone, which is dropped or built again.
  package func removeFromLeftOut(ofIndex name: String) throws {
    guard let tree = try leftOut() else { return }
    var found: [[UInt8]] = []
    var cursor = tree.cursor()
    try cursor.seekToStart()
    while let entry = cursor.current {
      if case .bytes(let text) = entry.payload, text.array.starts(with: Self.mark(ofIndex: name).utf8) {
        found.append(entry.key.array)
      }
      try cursor.next()
    }
    for identifier in found { try removeFromLeftOut(identifier) }
  }

  /// The list of them. That there is none is looked up once.
  private func leftOut() throws -> Tree? {
    if hasLeftOut == false { return nil }
    let tree = try transaction.tree(.leftOut(of: descriptor.key))
    hasLeftOut = tree != nil
    return tree
  }
}
