import StrataLocks
import StrataEngine

extension EngineStore {
  package func changes(of commit: CommitNumber) throws(ModelError) -> any ChangeReader {
    beginReading(.changes(from: nil, to: commit))
    defer { endReading() }
    let record = try commitRecord(commit)
    let view = try engineView(at: commit)
    // The first commit is compared with the empty store before it.
    let parent = try engineView(at: CommitNumber(record.parents.first ?? 0))
    // The frame lists what changed against the first parent.
    if let reader = try FrameChanges(of: view, parent: parent) { return reader }
    return try DifferenceReader(from: parent, to: view)
  }

  package func changes(from old: CommitNumber, to new: CommitNumber) throws(ModelError) -> any ChangeReader {
    beginReading(.changes(from: old, to: new))
    defer { endReading() }
    return try DifferenceReader(from: engineView(at: old), to: engineView(at: new))
  }
}

/// The changes of a commit as its frame lists them, put into the order of their keys; costs what the changes cost,
/// whatever the size of the store.
private final class FrameChanges: ChangeReader {
  /// A frame with more changes is not sorted in memory: comparing the trees gives them in order.
  private static let sortLimit: UInt64 = 100_000

  private let view: EngineView
  private let datastores: [UInt32: EngineDatastore]
  private let remaining: Mutex<ArraySlice<Change>>

  /// Returns nil if the trees say more than the frame: roots were brought back, commits squashed, or histories merged, or the frame has too
  /// many changes to be sorted, dropped a whole tree, or is damaged.
  init?(of view: EngineView, parent: EngineView) throws(ModelError) {
    let commit = view.view.commit
    guard commit.listsChanges, commit.restores == nil, commit.parents.count < 2,
      commit.flags.isDisjoint(with: [.squashed, .restore])
    else { return nil }
    var datastores: [UInt32: EngineDatastore] = [:]
    var count: UInt64 = 0
    for counts in commit.counts {
      guard let key = counts.tree.datastoreKey else { continue }
      guard let datastore = try view.ownDatastore(key) else { return nil }
      datastores[datastore.tree.identifier] = datastore
      count = [counts.inserted, counts.updated, counts.deleted].reduce(count) {
        $0.addingReportingOverflow($1).partialValue
      }
    }
    guard count <= Self.sortLimit else { return nil }
    guard try Set(view.datastoreKeys).isSuperset(of: parent.datastoreKeys) else { return nil }
    self.view = view
    self.datastores = datastores
    do throws(ModelError) {
      remaining = Mutex(try Self.sortedChanges(of: view.view, datastores)[...])
    } catch .storage(_, kind: .damaged) {
      return nil
    }
  }

  func next(_ limit: Int) throws(ModelError) -> [RecordChange] {
    let part = remaining.withLock { remaining in
      let part = remaining.prefix(limit)
      remaining = remaining.dropFirst(limit)
      return part
    }
    view.store.beginReading(.changes(from: nil, to: view.commit))
    defer { view.store.endReading() }
    var changes: [RecordChange] = []
    for change in part {
      if let datastore = datastores[change.tree] { changes.append(try recordChange(change, in: datastore)) }
    }
    return changes
  }

  private static func sortedChanges(
    of view: View, _ datastores: [UInt32: EngineDatastore]
  ) throws(ModelError) -> [Change] {
    var changes: [Change] = []
    try onStorage {
      var cursor = try view.changes()
      while let change = try cursor.next() {
        if datastores[change.tree] != nil { changes.append(change) }
      }
    }
    let names = datastores.mapValues(\.descriptor.key)
    return changes.sorted { left, right in
      left.tree == right.tree ? left.key < right.key : names[left.tree, default: ""] < names[right.tree, default: ""]
    }
  }

  private func recordChange(_ change: Change, in datastore: EngineDatastore) throws(ModelError) -> RecordChange {
    let key = datastore.descriptor.storedKey(change.key.array)
    return RecordChange(
      datastore: datastore.descriptor.key, identifier: key,
      old: try datastore.evenDamaged(key, at: change.replacesDelete ? nil : change.replaced),
      new: try datastore.evenDamaged(key, at: change.kind == .put ? change.reference : nil))
  }
}

/// The difference of two commits, one datastore after the other; subtrees that both share are skipped.
final class DifferenceReader: ChangeReader {
  private struct State: Sendable {
    var keys: [String]
    var current: Walk?
    var failure: ModelError?
  }

  private struct Walk: Sendable {
    let key: String
    var cursor: DifferenceCursor
    /// Read at the first difference, so that a datastore that cannot be read is in no way of the others.
    var datastores: (old: EngineDatastore?, new: EngineDatastore?)?
  }

  private let old: EngineView
  private let new: EngineView
  private let state: Mutex<State>

  init(from old: EngineView, to new: EngineView) throws(ModelError) {
    self.old = old
    self.new = new
    let keys = try Set(new.datastoreKeys).union(old.datastoreKeys)
    state = Mutex(State(keys: keys.sorted(by: >), current: nil))
  }

  func next(_ limit: Int) throws(ModelError) -> [RecordChange] {
    new.store.beginReading(.changes(from: old.commit, to: new.commit))
    defer { new.store.endReading() }
    return try state.withLock { state throws(ModelError) in
      var changes: [RecordChange] = []
      if let failure = state.failure { throw failure }
      while changes.count < limit {
        if state.current == nil {
          guard let key = state.keys.popLast() else { break }
          let cursor = try onStorage { try difference(old.view, new.view, tree: .records(of: key)) }
          state.current = Walk(key: key, cursor: cursor)
          continue
        }
        do throws(ModelError) {
          guard let difference = try onStorage({ try state.current?.cursor.next() }) else {
            state.current = nil
            continue
          }
          if let change = try recordChange(difference, in: &state.current) { changes.append(change) }
        } catch {
          // The changes that were found come first; the next part is the error.
          guard case .storage(_, kind: .damaged) = error, !changes.isEmpty else { throw error }
          state.failure = error
          break
        }
      }
      return changes
    }
  }

  private func recordChange(_ difference: Difference, in walk: inout Walk?) throws(ModelError) -> RecordChange? {
    guard let name = walk?.key else { return nil }
    var datastores = walk?.datastores ?? nil
    if datastores == nil { datastores = (try self.old.ownDatastore(name), try self.new.ownDatastore(name)) }
    walk?.datastores = datastores
    guard let datastore = datastores?.new ?? datastores?.old else { return nil }
    let key = datastore.descriptor.storedKey(difference.key.array)
    let old = try datastores?.old?.evenDamaged(key, at: difference.old?.payload.record)
    let new = try datastores?.new?.evenDamaged(key, at: difference.new?.payload.record)
    if let old, let new, old.isSame(as: new) { return nil }
    return RecordChange(datastore: datastore.descriptor.key, identifier: key, old: old, new: new)
  }
}
