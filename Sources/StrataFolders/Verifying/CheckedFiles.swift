import StrataModel

/// The files that some commit names, and summaries of their pages, each read once.
struct CheckedFiles {
  private let contents: FolderContents
  private var known: Set<String> = []
  /// By index folder and page.
  private var pages: [String: [DatedIdentifier: PageSummary]] = [:]
  private(set) var pageCount = 0

  /// The facts about each page that a list of pages needs.
  private struct PageSummary {
    var startCount: Int
    var beginsOpen: Bool?
    var endsOpen: Bool?
    var isDamaged: Bool
  }

  init(_ contents: FolderContents) { self.contents = contents }

  /// Notes a named file; returns whether it is named for the first time.
  @discardableResult
  mutating func insert(_ file: String) -> Bool { known.insert(file).inserted }

  func isKnown(_ file: String) -> Bool { known.contains(file) }

  mutating func check(
    _ list: (index: String, file: String), of datastore: String, at commit: CommitNumber
  ) -> [FolderFinding] {
    guard insert(list.file) else { return [] }
    let manifest: IndexManifest
    do throws(FolderError) {
      manifest = try contents.parse(list.file)
    } catch {
      return [FolderFinding(error, datastore: datastore, lost: "; commit \(commit) needs it")]
    }
    var findings: [FolderFinding] = []
    if manifest.endsInDroppedPage {
      findings.append(
        FolderFinding(
          .warning, .treacherousManifest, file: list.file, datastore: datastore,
          "it ends in a dropped page, and the original library would lose its next write to the last page without a word",
          remedy: "convert the folder before the app writes again"))
    }
    // A dropped page was part of an earlier state; its file may exist.
    for page in manifest.dropped { insert(FolderLayout.page(page, of: list.index)) }
    findings += checkPages(manifest.pages, of: list, datastore, at: commit)
    return findings
  }

  private mutating func checkPages(
    _ identifiers: [DatedIdentifier], of list: (index: String, file: String), _ datastore: String,
    at commit: CommitNumber
  ) -> [FolderFinding] {
    var findings: [FolderFinding] = []
    var isOpen = false
    var knowsBefore = true
    for identifier in identifiers {
      let summary = summary(of: identifier, list.index, datastore, at: commit, &findings)
      if let beginsOpen = summary.beginsOpen, knowsBefore, beginsOpen != isOpen {
        findings.append(
          FolderFinding(
            .damage, .brokenEntry, file: list.file, datastore: datastore,
            isOpen
              ? "an entry has no end before page \(identifier) begins another"
              : "page \(identifier) begins in the middle of an entry that has no beginning"))
      }
      if let endsOpen = summary.endsOpen { isOpen = endsOpen }
      knowsBefore = !summary.isDamaged
      if summary.isDamaged { isOpen = false }
    }
    if isOpen, knowsBefore {
      findings.append(
        FolderFinding(.damage, .brokenEntry, file: list.file, datastore: datastore, "the last entry has no end"))
    }
    return findings
  }

  private mutating func summary(
    of identifier: DatedIdentifier, _ index: String, _ datastore: String, at commit: CommitNumber,
    _ findings: inout [FolderFinding]
  ) -> PageSummary {
    if let known = pages[index]?[identifier] { return known }
    let source = contents.pageFiles(of: index)
    let page = source.page(identifier)
    let file = source.path(of: identifier)
    insert(file)
    pageCount += 1
    if let damage = page.damage {
      let isMissing = contents.files.size(of: file) == nil
      findings.append(
        FolderFinding(
          .damage, isMissing ? .missingFile : .unreadableFile, file: file, datastore: datastore,
          "\(damage); commit \(commit) needs it", remedy: FolderFinding.backup))
    }
    if page.bytes.count > Page.writtenLimit {
      findings.append(
        FolderFinding(
          .warning, .oversizedPage, file: file, datastore: datastore,
          "the page has \(page.bytes.count) bytes, and the original library crashes when it writes near one of more than \(Page.writtenLimit)",
          remedy: "convert the folder"))
    }
    let summary = PageSummary(
      startCount: page.starts.count, beginsOpen: page.beginsOpen, endsOpen: page.endsOpen, isDamaged: page.damage != nil
    )
    pages[index, default: [:]][identifier] = summary
    return summary
  }

  /// The number of entries of a list that was checked; nil if a page of it is damaged.
  func startCount(of list: EntryList) -> Int? {
    var count = 0
    for identifier in list.pages {
      guard let summary = pages[list.source.index]?[identifier], !summary.isDamaged else { return nil }
      count += summary.startCount
    }
    return count
  }
}
