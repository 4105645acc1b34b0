import StrataDocuments
import StrataEngine
import StrataModel
import StoreBrowser

// The verbs that rewrite a store as a whole: compact, copy.

extension VerbRun {
  func compact() throws {
    let isDryRun = arguments.has("--dry-run")
    let store = try ownStore(isDryRun ? store() : editableStore())
    let retention = try retention(arguments.value("--keep") ?? "all")
    try declareCompression(in: store)
    let wroteDeltas = store.writesDeltas
    let report =
      try isDryRun
      ? store.compactionEstimate(retention)
      : store.compact(
        retention, writingDeltas: !arguments.has("--no-deltas"), progress: ProgressMeter("compacting").report)
    try tell(
      [
        "bytesBefore": .number(NumberText(report.bytesBefore)), "bytesAfter": .number(NumberText(report.bytesAfter)),
        "commitsKept": .count(report.commitsKept), "commitsPruned": .count(report.commitsSquashed),
        "nodeDeltas": .bool(store.writesDeltas),
      ],
      or: "\(report.bytesBefore) → \(isDryRun ? "about " : "")\(report.bytesAfter) bytes, "
        + "\(counted(report.commitsKept, "commit")) kept, \(report.commitsSquashed) squashed"
        + (store.writesDeltas && !wroteDeltas ? "\n" + Self.refusal : ""))
  }

  private static let refusal =
    "It has node deltas now: programs made before them refuse it, and say so. compact --no-deltas takes them out again."

  /// Declares what `--compress` and `--no-compress` ask for.
  private func declareCompression(in store: EngineStore) throws {
    let (isOn, isOff) = (arguments.has("--compress"), arguments.has("--no-compress"))
    let named = arguments.operands(from: 1)
    guard isOn || isOff else {
      if named.isEmpty { return }
      throw UsageError("a DATASTORE goes with --compress or --no-compress", verb: arguments.verb)
    }
    try store.declareCompression(
      isOn, of: try named.isEmpty ? store.head.datastoreKeys : named)
  }

  /// `all`, a number of commits, an age such as `30d`, `12h`, `2w`, `90m`, or one of each: `100 or 30d`, `100 and 30d`.
  private func retention(_ text: String) throws -> CommitRetention {
    do throws(ModelError) { return try CommitRetention(parsing: text) } catch {
      throw UsageError(
        "--keep is all, a number of commits, an age as 30d, 12h or 2w, or one of each as in '100 or 30d', not “\(text)”",
        verb: arguments.verb)
    }
  }

  func copy() throws {
    let places = (try required(0), try required(1))
    if isServer(places.0) || isServer(places.1) { return try copyByServer(places.0, places.1) }
    let store = try ownStore(store())
    let newPath = try required(1)
    let commit = try arguments.value("--at").map { try store.resolve($0) }
    let report = try store.copy(to: newPath, at: commit, progress: ProgressMeter("copying").report)
    try tell(
      ["path": .string(newPath), "commits": .count(report.commitsKept)],
      or: "\(newPath): \(counted(report.commitsKept, "commit")), \(report.bytesAfter) bytes")
  }

  /// One of our own stores; folders of the original library are only read.
  func ownStore(_ store: any ReadableStore) throws -> EngineStore {
    if let own = store as? EngineStore { return own }
    if isServer(store.path), case .readOnly(let reason) = store.access { throw ModelError.readOnly(reason: reason) }
    throw ModelError.readOnly(reason: "it is a folder of the original library; strata convert makes a store of it")
  }
}
