import DatastoreModel
import StorageEngine
import StoreBrowser

// The verbs that rewrite a store as a whole: compact, copy.

extension VerbRun {
  func compact() throws -> Int32 {
    let store = try ownStore(editableStore())
    let retention = try retention(arguments.value("--keep") ?? "all")
    let meter = ProgressMeter("compacting")
    let report = try describingStorageErrors { () throws(StorageError) in
      try store.engine.compact(retention) { meter.report($0.commitsDone, $0.commitsToDo) }
    }
    meter.finish()
    if isJSON {
      try line([
        "bytesBefore": .number(NumberText(report.bytesBefore)), "bytesAfter": .number(NumberText(report.bytesAfter)),
        "commitsKept": .count(report.commitsKept), "commitsPruned": .count(report.commitsPruned),
      ])
    } else {
      try output.line(
        "\(report.bytesBefore) → \(report.bytesAfter) bytes, \(counted(report.commitsKept, "commit")) kept, "
          + "\(report.commitsPruned) squashed")
    }
    return 0
  }

  /// `all`, a number of commits, or an age: `30d`, `12h`, `2w`, `90m`.
  private func retention(_ text: String) throws -> Retention {
    if text == "all" { return .all }
    if let count = Int(text), count > 0 { return .last(count) }
    let seconds: [Character: Int64] = ["m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
    if let unit = text.last.flatMap({ seconds[$0] }), let number = Int64(text.dropLast()), number > 0, number < 10_000 {
      return .younger(number * unit * 1_000_000_000)
    }
    throw UsageError(
      "--keep is all, a number of commits, or an age as 30d, 12h or 2w, not “\(text)”", verb: arguments.verb)
  }

  func copy() throws -> Int32 {
    let store = try ownStore(openStore(required(0), readOnly: true))
    let newPath = try required(1)
    let commit = try arguments.value("--at").map { try store.resolve($0).rawValue }
    let meter = ProgressMeter("copying")
    let report = try describingStorageErrors { () throws(StorageError) in
      try store.engine.copy(to: newPath, at: commit) { meter.report($0.commitsDone, $0.commitsToDo) }
    }
    meter.finish()
    if isJSON {
      try line(["path": .string(newPath), "commits": .count(report.commitsKept)])
    } else {
      try output.line("\(newPath): \(counted(report.commitsKept, "commit")), \(report.bytesAfter) bytes")
    }
    return 0
  }

  /// One of our own stores; folders of the original library are only read.
  private func ownStore(_ store: any ReadableStore) throws -> OwnStore {
    if let own = store as? OwnStore { return own }
    throw ModelError.readOnly(reason: "it is a folder of the original library; strata convert makes a store of it")
  }
}
