import DatastoreModel
import StorageEngine

extension WarmUp {
  /// Makes changes of records as they are given, before any of them is decoded: each must still be what was changed.
  func mend(_ edits: [RecordEdit]) throws {
    try scope.change { transaction in
      for edit in edits { try mend(edit, in: transaction) }
    }
  }

  private func mend(_ edit: RecordEdit, in transaction: WriteTransaction) throws {
    let order = core.identifiers.order
    let key = edit.identifier.bytes
    try order.place(of: key).withProbe { probe in
      let current = try throwingStoreErrors { () throws(StorageError) -> [UInt8]? in
        guard let tree = try transaction.tree(core.recordsTree), let found = try tree.find(probe)?.payload.record else {
          return nil
        }
        return try tree.value(of: found).array
      }
      guard current == edit.old.map({ RecordBytes.make(version: $0.version, content: $0.bytes) }) else {
        throw StoreError(.refused, "\(edit.identifier) of \(core.key) was changed meanwhile; look at it again.")
      }
      let place = order.isBytes ? nil : probe
      try throwingStoreErrors { () throws(StorageError) in
        if let new = edit.new {
          let record = RecordBytes.make(version: new.version, content: new.bytes)
          _ = try transaction.put(key, record, in: core.recordsTree, place: place)
        } else if current != nil {
          _ = try transaction.delete(key, in: core.recordsTree, place: place)
        }
      }
    }
  }
}
