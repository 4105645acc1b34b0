import StrataModel
import StrataEngine

extension WarmUp {
  /// Makes changes of records as they are given, before any of them is decoded: each must still be what was changed.
  func mend(_ edits: [RecordEdit]) throws {
    try scope.step { transaction in
      let writer = core.makeWriter(in: transaction)
      for edit in edits {
        let key = edit.identifier.bytes
        let current = try writer.current(key)?.bytes.array
        guard current == edit.old.map({ RecordBytes.make(version: $0.version, content: $0.bytes) }) else {
          throw StoreError(.refused, "\(edit.identifier) of \(core.key) was changed meanwhile; look at it again.")
        }
        // The indexes are rebuilt afterwards, so only the record is written here.
        if let new = edit.new {
          try writer.putRecord(key, RecordBytes.make(version: new.version, content: new.bytes))
        } else if current != nil {
          try writer.delete(key, oldValues: [])
        }
      }
    }
  }
}
