package import StrataModel

/// Checks a folder: every file that any commit names, the records and indexes of the newest state entry by entry, and the cases in which
/// the original library loses data or gets stuck, with a remedy.
///
/// Each page is read once, however many commits list it. Memory grows with the number of pages, not with the records.
package struct FolderVerifier {
  private let store: FolderStore
  private var contents: FolderContents { store.contents }
  private var report = FolderReport()
  private var told: Set<FolderFinding> = []
  private var files: CheckedFiles
  private let progress: (FolderProgress) -> Bool

  private init(at path: String, _ progress: @escaping (FolderProgress) -> Bool) throws(ModelError) {
    store = try FolderStore(at: path)
    files = CheckedFiles(store.contents)
    self.progress = progress
  }

  /// Checks everything and returns the report; throws only `ModelError.cancelled`, if `progress` returns false.
  package static func verify(
    _ path: String, progress: @escaping (FolderProgress) -> Bool = { _ in true }
  ) throws(ModelError) -> FolderReport {
    var verifier: FolderVerifier
    do throws(ModelError) {
      verifier = try FolderVerifier(at: path, progress)
    } catch {
      return FolderReport(
        findings: [FolderFinding(.damage, .unreadableFile, "\(error)", remedy: FolderFinding.backup)])
    }
    return try verifier.run()
  }

  private mutating func run() throws(ModelError) -> FolderReport {
    checkPointers()
    try checkCommits()
    try checkNewestState()
    checkOtherFiles()
    report.pageCount = files.pageCount
    report.findings.sort {
      ($1.severity, $0.datastore ?? "", $0.index ?? "") < ($0.severity, $1.datastore ?? "", $1.index ?? "")
    }
    return report
  }

  private mutating func add(_ finding: FolderFinding) {
    if told.insert(finding).inserted { report.findings.append(finding) }
  }

  private mutating func step(_ title: String, _ done: Int, of total: Int) throws(ModelError) {
    if !progress(FolderProgress(title: title, done: done, total: total)) { throw .cancelled }
  }

  private mutating func checkPointers() {
    if let damage = store.damage { add(FolderFinding(.damage, .missingFile, damage, remedy: FolderFinding.backup)) }
    files.insert(InfoFile.name)
    if let info: InfoFile = try? contents.parse(InfoFile.name) {
      addAbsent(info.absentMembers, of: InfoFile.name)
      if let snapshot = info.currentSnapshot {
        let file = FolderLayout.manifest(of: snapshot)
        files.insert(file)
        if let manifest: SnapshotManifest = try? contents.parse(file) { addAbsent(manifest.absentMembers, of: file) }
      }
    }
    switch store.history.ending {
    case nil: break
    case .pruned(let identifier):
      add(
        FolderFinding(
          .note, .historyEnds,
          "the commit before the oldest, \(identifier), is not in the folder: the history was cut there"))
    case .unreadable(let error):
      add(FolderFinding(error, lost: "; the history ends after it"))
    case .loop(let link):
      add(FolderFinding(.damage, .historyLoops, file: link.file, "the links of the history lead back to this commit"))
    }
  }

  private mutating func addAbsent(_ members: [String], of file: String) {
    guard !members.isEmpty else { return }
    add(
      FolderFinding(
        .warning, .incompleteFile, file: file,
        "\(members.joined(separator: ", ")) missing, without which the original library does not open the store"))
  }

  /// Every file that a commit names: oldest first, each file once.
  private mutating func checkCommits() throws(ModelError) {
    let links = store.history.links
    report.commitCount = links.count
    var previous = FolderView(empty: contents)
    for (place, link) in links.enumerated() {
      try step("commits", place, of: links.count)
      files.insert(link.file)
      files.insert(FolderLayout.manifest(of: link.snapshot))
      do throws(FolderError) {
        let view = try FolderView(CommitNumber(UInt64(place + 1)), at: link, in: contents)
        addAbsent(view.iteration.absentMembers, of: link.file)
        for key in view.iteration.datastores.keys.sorted() { checkRoot(of: key, in: view, after: previous) }
        previous = view
      } catch {
        add(FolderFinding(error))
      }
    }
  }

  private mutating func checkRoot(of key: String, in view: FolderView, after previous: FolderView) {
    guard let root = view.rootFile(of: key), files.insert(root.file) else { return }
    do throws(FolderError) {
      let file = try contents.root(root.file)
      addAbsent(file.absentMembers, of: root.file)
      for list in file.manifests(in: root.folder) {
        for finding in files.check(list, of: key, at: view.commit) { add(finding) }
      }
      checkCounts(of: key, file, root, view.commit)
      if let before = previous.rootFile(of: key), let earlier = try? contents.root(before.file) {
        checkIdentifierType(of: key, earlier, file, at: view.commit)
      }
    } catch {
      add(FolderFinding(error, datastore: key))
    }
  }

  private mutating func checkCounts(
    of key: String, _ root: RootFile, _ place: (file: String, folder: String), _ commit: CommitNumber
  ) {
    let primary = FolderLayout.primaryIndex(of: place.folder)
    guard let entries = try? contents.entries(of: primary, manifest: root.primaryManifest) else { return }
    let count = files.startCount(of: entries)
    guard let count, count != root.descriptor.size else { return }
    add(
      FolderFinding(
        .damage, .wrongCount, file: place.file, datastore: key,
        "commit \(commit) says that there are \(root.descriptor.size) records, and there are \(count)",
        remedy: root.descriptor.size == 0
          ? "the original library shows the datastore as empty and never migrates it; convert the folder, which counts them again"
          : "convert the folder, which counts them again"))
  }

  /// Q5: the original library empties a datastore whose identifier type changed before it reads it.
  private mutating func checkIdentifierType(of key: String, _ old: RootFile, _ new: RootFile, at commit: CommitNumber) {
    let (before, after) = (old.descriptor, new.descriptor)
    guard before.identifierType != after.identifierType, before.size > 0, after.size < before.size else { return }
    let last = CommitNumber(commit.rawValue - 1)
    add(
      FolderFinding(
        .warning, .lostRecords, datastore: key,
        "commit \(commit) changed the identifier's type from \(before.identifierType) to \(after.identifierType), and \(before.size - after.size) of \(before.size) records were lost",
        remedy:
          "commit \(last) still has them: look with --at \(last), or convert the folder and restore \(key) to \(last)"))
  }

  private mutating func checkNewestState() throws(ModelError) {
    let view = store.headView
    let keys = view.iteration.datastores.keys.sorted()
    report.datastoreCount = keys.count
    for (place, key) in keys.enumerated() {
      try step("records of \(key)", place, of: keys.count)
      guard let datastore = view.folderDatastore(key) else { continue }
      do throws(FolderError) {
        var check = RecordCheck(datastore)
        try check.run()
        report.recordCount += check.count
        for finding in check.findings { add(finding) }
      } catch {
        add(FolderFinding(error, datastore: key))
        continue
      }
      checkLastPage(of: datastore.primaryIndex, key)
      for index in datastore.secondaryIndexes {
        checkLastPage(of: index, key)
        try step("index \(index.descriptor.name) of \(key)", place, of: keys.count)
        do throws(FolderError) {
          let agreement = try IndexAgreement(index, of: datastore)
          report.entryCount += agreement.entryCount
          for finding in agreement.findings { add(finding) }
        } catch {
          add(FolderFinding(error, datastore: key, index: index.descriptor.name, remedy: IndexAgreement.rebuilding))
        }
      }
    }
  }

  private mutating func checkLastPage(of index: FolderIndex, _ key: String) {
    guard let entries = try? index.source.get(), let last = entries.pages.last else { return }
    let page = entries.source.page(last)
    guard page.blocks.isEmpty, page.damage == nil else { return }
    let name = index.layout == .primary ? nil : index.descriptor.name
    add(
      FolderFinding(
        .note, .emptyLastPage, datastore: key, index: name,
        "the last page is empty, and descending scans of the original library fail on it",
        remedy: "the app's next insertion fills it"))
  }

  private mutating func checkOtherFiles() {
    for link in unreachableCommits() {
      guard let iteration = try? contents.iteration(link) else { continue }
      let name = iteration.actionName.map { " (“\($0)”)" } ?? ""
      let base = iteration.preceding.map { preceding in
        store.history.links.firstIndex { $0.iteration == preceding }.map { ", made on #\($0 + 1)" } ?? ""
      }
      add(
        FolderFinding(
          .warning, .unreachableCommit, file: link.file,
          "a commit\(name)\(base ?? "") that nothing leads to: it was interrupted before it was done, or another process wrote over it",
          remedy: "it is left as it is; two processes must never write one store at the same time"))
    }
    var orphans: [String: Int] = [:]
    contents.files.walk { file, size in
      report.fileCount += 1
      report.byteCount += size
      guard !files.isKnown(file) else { return }
      let name = file.split(separator: "/").last ?? ""
      let kind = name.hasPrefix(".") ? "temporary file" : name.split(separator: ".").last.map(String.init) ?? "file"
      orphans[kind, default: 0] += 1
      report.orphanCount += 1
      report.orphanBytes += size
    }
    guard !orphans.isEmpty else { return }
    let kinds = orphans.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    add(
      FolderFinding(
        .note, .orphanFile,
        "\(report.orphanCount) files of \(report.orphanBytes) bytes that no commit names (\(kinds)): the original library leaves them behind and never reads them",
        remedy: "converting leaves them out"))
  }

  /// Iterations of all snapshots that are not part of the history.
  private func unreachableCommits() -> [FolderHistory.Link] {
    let known = Set(store.history.links)
    var snapshots: Set<DatedIdentifier> = Set(store.history.links.map(\.snapshot))
    contents.files.walk("Snapshots") { file, _ in
      for part in file.split(separator: "/") where part.hasSuffix(".snapshot") {
        if let snapshot = DatedIdentifier(String(part.dropLast(".snapshot".count))) { snapshots.insert(snapshot) }
      }
    }
    return snapshots.sorted { $0.description < $1.description }
      .flatMap { FolderStore.iterations(of: $0, in: contents) }.filter { !known.contains($0) }
  }
}
