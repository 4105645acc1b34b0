import StrataModel
import StrataDocuments
import StrataExpressions
import StrataLocks
import StoreBrowser

// `warm`: rebuilds the indexes that are stale, as far as this can be done without the app.

extension VerbRun {
  func warm() throws -> Int32 {
    let store = try editableStore()
    let view = try store.refresh()
    let named = try arguments.operand(1).map { try datastore($0, in: view) }
    let lines = WarmLines(isJSON: isJSON)
    var status: Int32 = 0
    var isIdle = true
    for datastore in try named.map({ [$0] }) ?? datastores(of: view) {
      for index in datastore.descriptor.indexes where index.isStale {
        isIdle = false
        if try !rebuild(index, of: datastore.descriptor.key, in: store, lines) { status = 1 }
      }
    }
    if isIdle { try lines.print(["state": "nothing to do"], or: "nothing to do: no index is stale") }
    return status
  }

  /// Returns whether the index is as it should be now.
  private func rebuild(
    _ index: IndexDescriptor, of key: String, in store: any EditableStore, _ lines: WarmLines
  ) throws -> Bool {
    let place: [Document.Member] = [.init("datastore", .string(key)), .init("index", .string(index.name))]
    let title = "\(key): index \(index.name)"
    let startedAt = LocalTime.now
    do {
      let commit = try store.rebuildIndex(
        index.name, of: key, options: EditOptions(activity: { lines.tell($0, place) }))
      let seconds = (LocalTime.now - startedAt) / 1_000_000_000
      let count = try store.refresh().datastore(key)?.indexes.first { $0.descriptor.name == index.name }?.count ?? 0
      try lines.print(
        .object(
          place + [.init("state", "complete"), .init("commit", .commit(commit)), .init("entries", .count(count))]),
        or: "\(title) is complete: commit \(commit), entries: \(count), \(seconds) s")
      return true
    } catch ModelError.refused(let reason) {
      try lines.print(
        .object(place + [.init("state", "needs the app"), .init("reason", .string(reason))]),
        or: "\(title) needs the app: \(reason)")
    } catch ModelError.failures(let records, let total) {
      let failures = records.map { record -> Document in
        ["id": .identifier(record.identifier), "reason": .string(record.reason)]
      }
      let first = records.prefix(3).map { "\n    \(key) \($0.identifier): \($0.reason)" }.joined()
      try lines.print(
        .object(
          place + [.init("state", "failed"), .init("count", .count(total)), .init("failures", .array(failures))]),
        or: "\(title) failed: \(counted(total, "record")) \(total == 1 ? "does" : "do") not fit\(first)")
    } catch ModelError.notUnique(let conflicts) {
      let reason = ModelError.notUnique(conflicts).description
      try lines.print(
        .object(place + [.init("state", "failed"), .init("reason", .string(reason))]), or: "\(title) failed: \(reason)")
    } catch ModelError.cancelled {
      try lines.rethrow()
    }
    return false
  }
}

/// The lines of a warm-up, which must not wait in a buffer: plain ones for a person at a terminal, otherwise JSON. Progress is printed
/// once a second.
private final class WarmLines: Sendable {
  private struct State {
    let output = Output()
    var toldAt: Int64?
    /// Why nothing can be printed any more.
    var problem: (any Error)?
  }

  private let state: Mutex<State>
  private let isJSON: Bool

  init(isJSON: Bool) {
    let state = State()
    self.isJSON = isJSON || !state.output.isTerminal
    self.state = Mutex(state)
  }

  func print(_ document: @autoclosure () -> Document, or text: @autoclosure () -> String) throws {
    let line = isJSON ? document().compactJSON : text()
    try state.withLock { state in
      try state.output.line(line)
      try state.output.flush()
    }
  }

  /// Tells how far a build is, if a second has passed; whether to go on.
  func tell(_ activity: Activity, _ place: [Document.Member]) -> Bool {
    let now = LocalTime.now
    let isDue = state.withLock { state in
      guard state.toldAt.map({ now - $0 >= 1_000_000_000 }) ?? true else { return false }
      state.toldAt = now
      return true
    }
    guard isDue else { return true }
    do {
      try print(.object(place + [.init("state", "building")] + activity.members), or: activity.line)
      return true
    } catch {
      state.withLock { $0.problem = error }
      return false
    }
  }

  func rethrow() throws { if let problem = state.withLock({ $0.problem }) { throw problem } }
}
