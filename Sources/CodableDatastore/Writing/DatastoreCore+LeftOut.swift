import DatastoreModel
import StorageEngine

// Records that a warm-up left out of the indexes, because they could not be converted, until somebody replaces them.

extension DatastoreCore {
  /// Whether a record was left out.
  func hasLeftOut(_ key: [UInt8], in work: OpenWork) throws -> Bool {
    guard let tree = try leftOut(in: work) else { return false }
    return try identifiers.order.place(of: key).withProbe { probe in
      try throwingStoreErrors { () throws(StorageError) in try tree.payload(probe) != nil }
    }
  }

  /// Notes that a record is whole again, or gone.
  func takeFromLeftOut(_ key: [UInt8], in work: OpenWork) throws {
    guard try leftOut(in: work) != nil else { return }
    let name = TreeName.leftOut(of: self.key)
    let transaction = work.transaction
    try identifiers.order.place(of: key).withProbe { probe in
      try throwingStoreErrors { () throws(StorageError) in
        _ = try transaction.remove(key, in: name, place: identifiers.order.isBytes ? nil : probe)
        if try transaction.tree(name)?.count == 0 { try transaction.dropTree(name) }
      }
    }
  }

  /// The list of them. That there is none is looked up once a transaction.
  private func leftOut(in work: OpenWork) throws -> Tree? {
    if work.known(number).isWhole { return nil }
    let tree = try throwingStoreErrors { () throws(StorageError) in
      try work.transaction.tree(.leftOut(of: key))
    }
    if tree == nil { work.note(number) { $0.isWhole = true } }
    return tree
  }
}
