import StrataDocuments
import StrataModel
import StrataFolders
import StrataLocks
import StrataEngine
import StoreBrowser

// The verbs that look for damage and recover data: verify, salvage, convert.

extension VerbRun {
  func verify() throws -> Int32 {
    let path = try required(0)
    if OriginalFolder.exists(at: path) { return try verifyFolder(path) }
    if isServer(path) {
      // The server verifies its own bytes.
      let store = try ownStore(store())
      for note in store.openingReport { try printFinding("note", note) }
      var isClean = try verifyModel(of: store, afterDamage: false)
      let faults = try faultsOfPins(of: store)
      for fault in faults { try printFinding("damage", fault) }
      isClean = isClean && faults.isEmpty
      // A pinned commit can be read, so its indexes must fit its records, too.
      for pin in try store.pins where faults.isEmpty {
        isClean = try verifyModel(of: store, at: pin.commit, afterDamage: false) && isClean
      }
      try printSummary(isClean: isClean, "indexes and records compared; the server checks its bytes")
      return isClean ? 0 : 3
    }
    let bytes = try onStorage {
      try FileStore.verify(at: path, disk: SystemDisk()) { [meter = ProgressMeter("verifying")] in
        meter.report(Int(clamping: $0.done), Int(clamping: $0.total))
      }
    }
    // Ranges that the disk cannot read were reported already. A mapping shows them as zeros.
    UnreadableMappings.areZeros.store(true, ordering: .relaxed)
    let opened = Result { () throws(ModelError) in try EngineStore.open(path: path, readOnly: true) }
    let words = TreeWords(try? opened.get())
    for finding in bytes.findings {
      try printFinding(finding.severity == .damage ? "damage" : "note", words.sentence(finding))
    }
    let unlisted = bytes.findingCount - bytes.findings.count
    if unlisted > 0 { try printFinding("damage", "and \(unlisted) more") }
    var isClean = bytes.isClean
    switch opened {
    case .success(let store):
      // If the store is damaged, the findings have reported it already.
      if store.damage == nil { for note in store.openingReport { try printFinding("note", note) } }
      isClean = try verifyModel(of: store, afterDamage: !isClean) && isClean
    case .failure(let error) where isClean: throw error
    // The reason why it cannot be opened was reported already.
    case .failure: break
    }
    for leftover in try onStorage({ try FileStore.leftovers(at: path) }) {
      try printFinding("note", "\(leftover)")
    }
    try printSummary(
      isClean: isClean,
      "\(counted(bytes.commits, "commit")), \(counted(bytes.changes, "change")), \(counted(bytes.nodes, "node")), \(bytes.bytes) bytes checked"
    )
    return isClean ? 0 : 3
  }

  /// Compares indexes with records, as of the head or another commit. Returns whether all is right. Damage was reported before.
  private func verifyModel(of store: EngineStore, at commit: CommitNumber? = nil, afterDamage: Bool) throws -> Bool {
    do {
      let model = try store.verifyModel(
        at: commit ?? store.head.commit, progress: ProgressMeter("verifying").report)
      for finding in model.allFindings { try printFinding(finding.severity.rawValue, "\(finding)") }
      return model.isClean
    } catch let error as ModelError where afterDamage {
      try printFinding("note", "indexes could not be compared with their records: \(error)")
      return false
    }
  }

  private func verifyFolder(_ path: String) throws -> Int32 {
    let report = try FolderVerifier.verify(path) { [meter = ProgressMeter("verifying")] in
      meter.report($0.done, $0.total)
    }
    for finding in report.findings {
      try printFinding(finding.severity.rawValue, "\(finding)", kind: finding.kind.rawValue)
    }
    try printSummary(isClean: report.isSound, report.summary)
    return report.exitStatus
  }

  private func printFinding(_ severity: String, _ text: String, kind: String? = nil) throws {
    try tell(
      [
        "severity": .string(severity), "kind": kind.map(Document.string) ?? .null, "finding": .string(text),
      ], or: text.hasPrefix("\(severity):") ? text : "\(severity): \(text)")
  }

  private func printSummary(isClean: Bool, _ text: String) throws {
    try tell(["clean": .bool(isClean), "summary": .string(text)], or: "\(isClean ? "clean" : "damaged"): \(text)")
  }

  func salvage() throws -> Int32 {
    let (path, newPath) = (try required(0), try required(1))
    let report = try EngineStore.salvage(
      from: path, to: newPath, program: "strata salvage", author: currentUser(),
      progress: ProgressMeter("salvaging").report)
    for loss in report.losses {
      try tell(["loss": .string(loss)], or: "lost: \(loss)")
    }
    for text in report.mendings {
      try tell(["note": .string(text)], or: "note: \(text)")
    }
    let summary =
      "\(counted(report.savedCommits, "commit")) saved, \(report.mendedCommits) mended, \(counted(report.records, "record"))"
    try tell(["complete": .bool(report.isComplete), "summary": .string(summary)], or: "\(newPath): \(summary)")
    return report.isComplete ? 0 : 3
  }

  func convert() throws {
    let report = try FolderConverter(
      from: required(0), to: required(1), keepsHistory: !arguments.has("--no-history"), author: currentUser()
    ) { [meter = ProgressMeter("converting")] in meter.report($0.done, $0.total) }.run()
    if isJSON {
      try line([
        "commits": .count(report.commitCount),
        "datastores": .array(
          report.datastores.map { ["key": .string($0.key), "count": .count($0.recordCount)] }),
        "stale": .array(
          report.staleIndexes.map {
            ["datastore": .string($0.datastore), "index": .string($0.index), "reason": .string($0.reason)]
          }),
        "omissions": .array(report.omissions.map(Document.string)),
        "notes": .array(report.notes.map(Document.string)),
      ])
    } else {
      for text in report.lines { try output.line(text) }
    }
  }
}
