/// Looks at every byte of a store: the chain of frames, the changes in them, every node of every tree of every commit, the
/// links between commits, and the references from trees to changes and from changes to the versions they replace.
///
/// It opens nothing and repairs nothing, so it works on a store that will not open, on read-only media, and beside a
/// living writer, of whose file it looks at what is durable. It keeps a few words for each node and each change: some 100
/// bytes each.
struct Verifier {
  let file: DataFile
  var report = VerifyReport()
  var survey: FrameSurvey
  /// What is known of change entries, by their offset.
  var changes: [FileOffset: ChangeFact] = [:]
  /// What is known of nodes, by their offset.
  var nodes: [FileOffset: NodeFact] = [:]
  /// What is known of commits, by their number.
  var commits: [UInt64: CommitRecord] = [:]
  /// The trees of commits by their numbers there, where these were asked for.
  var treeNames: [UInt64: [UInt32: TreeName]] = [:]
  /// The durable end of which a slot or the lock file tells, where the frames do not reach to it; else 0.
  var promisedEnd: FileOffset = 0
  /// References that were found wrong, so that each is told once.
  var wrongReferences: Set<FileOffset> = []

  /// A change entry that was seen in its frame.
  struct ChangeFact {
    var length: UInt32
    var check: UInt32
    var keyCheck: UInt32
    var tree: UInt32
    var kind: ChangeEntry.Kind
  }

  /// A node that was walked, with all below it.
  struct NodeFact {
    var length: UInt16
    var check: UInt32
    var level: UInt8
    var count: UInt64
    /// The identifier of the tree that it is part of; 0: the catalog, or the names.
    var tree: UInt32
    /// Bytes of the nodes at and below it, and of the entries that its leaves refer to.
    var nodeBytes: UInt64
    var entryBytes: UInt64
    var isDamaged: Bool
  }

  init(file: DataFile, survey: FrameSurvey) {
    self.file = file
    self.survey = survey
  }

  mutating func damage(
    _ what: String, _ offset: FileOffset, commit: UInt64? = nil, tree: TreeName? = nil, key: [UInt8]? = nil,
    _ problem: String, saved: String = ""
  ) {
    report.add(
      VerifyFinding(
        severity: .damage, what: what, offset: offset, commit: commit, tree: tree, key: key, problem: problem,
        saved: saved))
  }

  /// A commit's record contradicts the file.
  mutating func damage(_ record: CommitRecord, _ frame: FrameSurvey.Frame, _ problem: String) {
    damage("commit record", frame.recordStart, commit: record.number, problem)
  }

  mutating func note(_ what: String, _ offset: FileOffset, _ problem: String) {
    report.add(VerifyFinding(severity: .note, what: what, offset: offset, problem: problem))
  }
}

extension FileStore {
  /// Verifies the store at a path. See `Verifier` for what is looked at; the order of trees whose comparison only the app
  /// knows, and indexes against their records, are for the modules above to check.
  ///
  /// `progress` is called every few commits, on the calling thread; false ends the verification with what was found so far.
  /// Throws only where there is no store, where it is of a later format, or where the disk fails; damage is in the report.
  package static func verify(
    at path: String, disk: any Disk, progress: (VerifyProgress) -> Bool = { _ in true }
  ) throws(StorageError) -> VerifyReport {
    let opened = try RawStore(at: path, disk: disk)
    var goesOn = true
    let survey = try FrameSurvey(of: opened.file, limit: opened.end, promised: opened.promise?.end ?? 0) { done in
      goesOn = progress(VerifyProgress(phase: .frames, done: done, total: opened.end.bytes))
      return goesOn
    }
    var verifier = Verifier(file: opened.file, survey: survey)
    for finding in opened.findings { verifier.report.add(finding) }
    guard goesOn else { return verifier.report }
    try verifier.checkPages(opened)
    try verifier.checkFrames(opened)
    try verifier.checkLinks()
    try verifier.checkTrees(progress)
    return verifier.report
  }
}
