package import StrataModel
import StrataLocks

extension FolderStore {
  package func commit(_ number: CommitNumber) throws(ModelError) -> CommitDetails {
    guard let link = history.link(number) else { throw .noSuchCommit("\(number)") }
    if let known = counts.withLock({ $0[link] }), known.number == number { return known }
    let commit = try reading { () throws(FolderError) in try row(of: number, at: link) }
    counts.withLock { $0[link] = commit }
    return commit
  }

  /// Every commit was made on one other.
  package func commitPage(from open: [CommitNumber], limit: Int, folded: Bool) throws(ModelError) -> CommitPage {
    var page = CommitPage()
    guard let newest = open.max(), newest.rawValue > 0 else { return page }
    var expected: CommitNumber? = newest
    for number in try numbers(from: min(newest, history.head), limit, folded: folded) {
      if let expected, expected != number { page.passed[expected] = number }
      let commit = try commit(number)
      page.commits.append(commit)
      expected = commit.parents.first
    }
    if page.commits.count == limit, let expected { page.next = [expected] }
    return page
  }

  /// Whether a commit only registered datastores.
  package func isRegistration(_ number: CommitNumber) throws(ModelError) -> Bool {
    guard let link = history.link(number) else { return false }
    return try reading { () throws(FolderError) in
      let before = try preceding(number).map { link throws(FolderError) in try contents.iteration(link) }
      return try contents.iteration(link).isRegistration(after: before)
    }
  }

  package func resolve(_ name: String) throws(ModelError) -> CommitNumber {
    switch try CommitName(parsing: name, pins: []) {
    case .number(let number):
      guard history.link(number) != nil else { throw .noSuchCommit(name) }
      return number
    case .stepsBeforeHead(0): return history.head
    case .stepsBeforeHead(let steps):
      let (needed, isTooMany) = steps.addingReportingOverflow(1)
      let numbers = isTooMany ? [] : try numbers(from: history.head, needed, folded: true)
      guard !isTooMany, numbers.count == needed, let last = numbers.last else { throw .noSuchCommit(name) }
      return last
    case .time(let moment):
      guard let number = try newest(notLaterThan: moment) else { throw .noSuchCommit(name) }
      return number
    case .pin: throw .noSuchCommit(name)
    }
  }

  /// The numbers of a commit and those before it, without registrations if they are `folded`.
  private func numbers(
    from newest: CommitNumber, _ limit: Int, folded: Bool
  ) throws(ModelError) -> [CommitNumber] {
    var numbers: [CommitNumber] = []
    var number = newest
    while number.rawValue > 0, numbers.count < limit {
      let isPassedOver = try folded ? isRegistration(number) : false
      if !isPassedOver { numbers.append(number) }
      number = CommitNumber(number.rawValue - 1)
    }
    return numbers
  }

  private func newest(notLaterThan moment: Int64) throws(ModelError) -> CommitNumber? {
    for (place, link) in history.links.enumerated().reversed() {
      let iteration = try reading { () throws(FolderError) in try contents.iteration(link) }
      if iteration.creationDate <= moment { return CommitNumber(UInt64(place + 1)) }
    }
    return nil
  }

  private func preceding(_ number: CommitNumber) -> FolderHistory.Link? {
    number.rawValue > 1 ? history.link(CommitNumber(number.rawValue - 1)) : nil
  }

  private func row(of number: CommitNumber, at link: FolderHistory.Link) throws(FolderError) -> CommitDetails {
    let new = try FolderView(number, at: link, in: contents)
    let before = try preceding(number).map { link throws(FolderError) in
      try FolderView(CommitNumber(number.rawValue - 1), at: link, in: contents)
    }
    let old = before ?? FolderView(empty: contents)
    let isRegistration = new.iteration.isRegistration(after: before?.iteration)
    // Damage in a datastore hides its changes, not the commit.
    let changes = isRegistration ? [] : Self.changes(from: old, to: new)
    return CommitDetails(
      number: number, parents: before.map { [$0.commit] } ?? [], date: new.iteration.creationDate,
      action: isRegistration ? "" : new.iteration.actionName ?? "", changes: changes,
      isMaintenance: changes.isEmpty, byteCount: Self.bytes(from: old, to: new, at: link))
  }

  private static func changes(from old: FolderView, to new: FolderView) -> [ChangeCount] {
    var tally = ChangeTally()
    for key in Set(old.iteration.datastores.keys).union(new.iteration.datastores.keys) {
      guard var difference = try? FolderDifference(of: key, from: old, to: new) else { continue }
      if let imported = difference.importedCount {
        tally.count(.insert, in: key, times: imported)
      } else {
        while let change = try? difference.next() { tally.count(change.kind, in: key) }
      }
    }
    return tally.counts
  }

  /// The sizes of the files that an iteration brought: itself, new roots, their new manifests and new pages.
  private static func bytes(from old: FolderView, to new: FolderView, at link: FolderHistory.Link) -> UInt64 {
    let contents = new.contents
    var sum = contents.files.size(of: link.file) ?? 0
    for key in new.iteration.datastores.keys {
      guard let root = new.rootFile(of: key), root.file != old.rootFile(of: key)?.file,
        let now = try? contents.root(root.file)
      else { continue }
      sum += contents.files.size(of: root.file) ?? 0
      let before = old.rootFile(of: key).flatMap { try? contents.root($0.file) }
      let known = Set(before?.manifests(in: root.folder).map(\.file) ?? [])
      for manifest in now.manifests(in: root.folder) where !known.contains(manifest.file) {
        sum += contents.files.size(of: manifest.file) ?? 0
        guard let list: IndexManifest = try? contents.parse(manifest.file) else { continue }
        for page in list.added { sum += contents.files.size(of: FolderLayout.page(page, of: manifest.index)) ?? 0 }
      }
    }
    return UInt64(sum)
  }
}

extension RootFile {
  /// The manifests of all indexes that a root names, with the indexes' folders.
  func manifests(in folder: String) -> [(index: String, file: String)] {
    let primary = FolderLayout.primaryIndex(of: folder)
    let secondary =
      directIndexes.map { (FolderLayout.index($0.folder, layout: .direct, of: folder), $0.manifest) }
      + referenceIndexes.map { (FolderLayout.index($0.folder, layout: .reference, of: folder), $0.manifest) }
    return ([(primary, primaryManifest)] + secondary).map { ($0.0, FolderLayout.indexManifest($0.1, of: $0.0)) }
  }
}
