package import StrataModel
import StrataFoundation

extension WorkContext {
  /// Keeps the commits of a store in memory on the disk, like staged changes, until its file is closed: a hang-up or a crash loses neither.
  func keepCommits(of file: DocumentFile) throws(ModelError) {
    guard let store = store as? EngineStore, let opened = file.report.commit else { return }
    var steps: [StagedStep] = []
    for number in opened.rawValue..<store.head.commit.rawValue {
      let commit = CommitNumber(number + 1)
      let reader = try store.changes(of: commit)
      var edits: [RecordEdit] = []
      while case let part = try reader.next(512), !part.isEmpty { edits += part.map(\.edit) }
      if !edits.isEmpty { steps.append(StagedStep(title: try store.commit(commit).action, edits: edits)) }
    }
    try files.keepCommits(steps)
  }
}

extension BrowserFiles {
  /// Returns the files for a store in memory, which also keep its commits. The changes and commits that an ended browser left for the same contents are there again.
  ///
  /// - Returns: the files, and a sentence about the commits of an ended browser.
  package static func files(
    in folder: String?, of file: DocumentFile, in store: EngineStore
  ) throws(ModelError) -> (files: BrowserFiles, greeting: String?) {
    guard let folder else { return (.none, nil) }
    // Identified by the bytes of the file, because edits of other bytes do not apply to these rows.
    let contents = String(file.digest, radix: 16)
    var files = BrowserFiles(folder: folder, contents: file.digest)
    func names(_ path: String) -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }
    let hasOthers = names(folder).contains { name in
      !name.hasSuffix("-" + contents) && names("\(folder)/\(name)").contains { !$0.hasSuffix(".lock") }
    }
    let name = DocumentFile.fileName(of: file.path)
    let others =
      hasOthers ? "\(name) was changed: what was done on its former contents is there again when it has them" : nil
    guard let commits = try? StagedFile(folder: "\(folder)/commits-\(contents)") else { return (files, others) }
    files.commits = commits
    let steps: [StagedStep]
    var problem: String?
    do {
      steps = try commits.load(store.head.datastores.map(\.descriptor))?.steps ?? []
    } catch {
      // An unreadable file is kept aside, so that the next commit does not replace it.
      let aside = try commits.setAside()
      problem = "the commits of the last time cannot be read; their file lies at \(aside)"
      steps = []
    }
    for step in steps {
      _ = try store.commit(ChangeSet(changes: step.edits), named: step.title, options: EditOptions())
    }
    if steps.isEmpty { return (files, problem ?? others) }
    let count = NumberFormat.counted(steps.count, "commit")
    return (files, "\(count) of the last time made again; q asks what becomes of them")
  }

  func keepCommits(_ steps: [StagedStep]) throws(ModelError) { try commits?.save(StagedChanges(steps: steps)) }
}
