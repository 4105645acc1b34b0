/// Checks every byte of a store: the chain of frames, the changes in them, every node of every tree of every commit, the links between
/// commits, and the references from trees to changes and from changes to the versions they replace.
///
/// It opens nothing and repairs nothing, so it works on a store that will not open, on read-only media, and beside a living writer, of
/// whose file it checks the durable part. It keeps a few words for each node and each change: some 100 bytes each.
struct Verifier {
  let file: DataFile
  var report = VerifyReport()
  var survey: FrameSurvey
  var changes: [FileOffset: ChangeFact] = [:]
  var nodes: [FileOffset: NodeFact] = [:]
  var commits: [UInt64: CommitRecord] = [:]
  /// The trees of commits by their numbers there, for the commits that were looked up.
  var treeNames: [UInt64: [UInt32: TreeName]] = [:]
  /// References that were found wrong, so that each is reported once.
  var wrongReferences: Set<FileOffset> = []

  /// A change entry that was seen in its frame.
  struct ChangeFact {
    var length: UInt32
    var check: UInt32
    var keyCheck: UInt32
    var tree: UInt32
    var kind: ChangeEntry.Kind

    /// `bytes`: those of the entry, with at least its key.
    init(_ entry: ChangeEntry, _ bytes: Bytes, _ reference: EntryReference) {
      (length, check, tree, kind) = (reference.length, reference.check, entry.tree, entry.kind)
      keyCheck = bytes[entry.keyRange].withUnsafeBytes { checksum(0, $0) }
    }
  }

  /// A node that was walked, with everything below it.
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

    var liveBytes: UInt64 { nodeBytes &+ entryBytes }
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

  mutating func damage(_ record: CommitRecord, _ frame: FrameSurvey.Frame, _ problem: String) {
    damage("commit record", frame.recordStart, commit: record.number, problem)
  }

  mutating func addNote(_ what: String, _ offset: FileOffset, _ problem: String) {
    report.add(VerifyFinding(severity: .note, what: what, offset: offset, problem: problem))
  }

  mutating func addUnusedBytes(_ offset: FileOffset) {
    addNote("page", offset, "bytes that should be zero are not; nothing reads them")
  }
}

extension FileStore {
  /// Verifies the store at a path. See `Verifier` for the checks. The modules above check the order of trees whose comparison only the app
  /// knows, and indexes against their records.
  ///
  /// `progress` is called every few commits, on the calling thread. If it returns false, the verification ends with the findings so far.
  /// Throws only if there is no store, if it is of a later format, or if the disk fails; damage is in the report.
  package static func verify(
    at path: String, disk: any Disk, progress: (VerifyProgress) -> Bool = { _ in true }
  ) throws(StorageError) -> VerifyReport {
    let opened = try RawStore(at: path, disk: disk)
    var goesOn = true
    let survey = try FrameSurvey(of: opened.file, limit: opened.end, promised: opened.promise?.end ?? 0) { done in
      goesOn = progress((done, opened.end.bytes))
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
