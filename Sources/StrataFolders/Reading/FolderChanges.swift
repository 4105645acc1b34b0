import StrataDocuments
package import StrataModel
import StrataLocks

/// The records that differ between two states of the folder, one datastore after the other.
///
/// Roots and pages that both states name are equal and never read; the entries of others are decoded one at a time.
package final class FolderChanges: ChangeReader {
  private let state: Mutex<State>

  private struct State: Sendable {
    var old: FolderView
    var new: FolderView
    /// Keys of datastores that were not begun, last first.
    var remaining: [String]
    var current: FolderDifference?
  }

  init(from old: FolderView, to new: FolderView) {
    let keys = Set(old.iteration.datastores.keys).union(new.iteration.datastores.keys)
    state = Mutex(State(old: old, new: new, remaining: keys.sorted(by: >)))
  }

  package func next(_ limit: Int) throws(ModelError) -> [RecordChange] {
    try state.withLock { state throws(ModelError) in
      try reading { () throws(FolderError) in
        var changes: [RecordChange] = []
        while changes.count < limit, let change = try Self.next(&state) { changes.append(change) }
        return changes
      }
    }
  }

  private static func next(_ state: inout State) throws(FolderError) -> RecordChange? {
    while true {
      if let change = try state.current?.next() { return change }
      state.current = nil
      guard let key = state.remaining.popLast() else { return nil }
      state.current = try FolderDifference(of: key, from: state.old, to: state.new)
    }
  }
}

/// The records of one datastore that differ between two states.
struct FolderDifference: Sendable {
  let key: String
  private let old: FolderDatastore?
  private let new: FolderDatastore?
  private var entries: EntryDifferences

  /// Returns nil if both states are the same file, or have no such datastore with records.
  init?(of key: String, from oldView: FolderView, to newView: FolderView) throws(FolderError) {
    let (oldRoot, newRoot) = (oldView.rootFile(of: key)?.file, newView.rootFile(of: key)?.file)
    guard oldRoot != newRoot else { return nil }
    self.key = key
    old = oldRoot == nil ? nil : oldView.folderDatastore(key)
    new = newRoot == nil ? nil : newView.folderDatastore(key)
    for index in [old?.primaryIndex, new?.primaryIndex] { _ = try index?.source.get() }
    entries = EntryDifferences(from: old?.primaryIndex, to: new?.primaryIndex)
  }

  /// The number of new records, if there were none before: counted without decoding one.
  var importedCount: Int? {
    guard old == nil, let new else { return nil }
    return try? new.count
  }

  mutating func next() throws(FolderError) -> RecordChange? {
    guard let pair = try entries.next(), let identifier = pair.new?.identifier ?? pair.old?.identifier else {
      return nil
    }
    return RecordChange(
      datastore: key, identifier: identifier,
      old: pair.old.map { Record($0, like: old?.descriptor.coding ?? .opaque) },
      new: pair.new.map { Record($0, like: new?.descriptor.coding ?? .opaque) })
  }
}
