package import StrataModel

/// Makes one of our own stores from a folder of the original library.
///
/// It converts all datastores, records with their bytes and versions, index entries and kinds, and the history: each iteration becomes a
/// commit with its date and name. Iterations that only registered datastores stay hidden, as in the folder. An index that cannot be carried
/// over truthfully is marked stale, to be rebuilt at the app's first warm-up, and listed.
///
/// The folder is only read, and the new store gets its name only when it is whole. Memory is that of one commit's difference of pages,
/// whatever the number of records. The order of identifiers that only the app can compare is kept in memory.
package struct FolderConverter {
  private let folder: FolderStore
  private let path: String
  /// Whether older iterations become commits; otherwise the newest state is one commit.
  private let keepsHistory: Bool
  private let program: String
  private let author: String
  private let progress: ((FolderProgress) -> Bool)?
  /// Builds the store, if the caller gives one.
  private var builder: StoreBuilder?

  /// - Parameters:
  ///   - folder: The path of the original library's folder.
  ///   - path: The path of the new store; nothing may exist there.
  ///   - progress: Called with the progress; if it returns false, the conversion ends with `ModelError.cancelled`.
  package init(
    from folder: String, to path: String, keepsHistory: Bool = true, program: String = "strata convert",
    author: String = "", progress: ((FolderProgress) -> Bool)? = nil
  ) throws(ModelError) {
    guard OriginalFolder.exists(at: folder) else {
      throw .refused(reason: "\(folder) is not a folder of the original CodableDatastore library")
    }
    self.folder = try FolderStore(at: folder)
    self.path = path
    self.keepsHistory = keepsHistory
    self.program = program
    self.author = author
    self.progress = progress
  }

  /// Converts the newest state into a builder's store.
  package init(from folder: String, into builder: StoreBuilder) throws(ModelError) {
    try self.init(from: folder, to: "", keepsHistory: false)
    self.builder = builder
  }

  /// Converts; leaves nothing at `path` if it throws.
  package func run() throws(ModelError) -> ConversionReport {
    let builder = if let builder { builder } else { try StoreBuilder(at: path, program: program, author: author) }
    do throws(ModelError) {
      var work = try ConversionWork(folder, builder, keepsHistory: keepsHistory, progress: progress)
      try work.run()
      try builder.finish()
      return work.report(for: path)
    } catch {
      builder.cancel()
      throw error
    }
  }
}

private struct ConversionWork {
  let folder: FolderStore
  let builder: StoreBuilder
  let keepsHistory: Bool
  var stale: StaleIndexes
  var conversions: [String: DatastoreConversion] = [:]
  var commitCount = 0
  var omissions: [String] = []
  private let meter: Meter

  /// The state of the progress report, shared with the datastores' conversions.
  private final class Meter {
    var progress: FolderProgress
    let report: ((FolderProgress) -> Bool)?

    init(of total: Int, _ report: ((FolderProgress) -> Bool)?) {
      progress = FolderProgress(title: "", done: 0, total: total)
      self.report = report
    }

    func tell(_ title: String) throws(ModelError) {
      progress.title = title
      try tell()
    }

    func tell() throws(ModelError) {
      if let report, !report(progress) { throw .cancelled }
    }
  }

  init(
    _ folder: FolderStore, _ builder: StoreBuilder, keepsHistory: Bool, progress: ((FolderProgress) -> Bool)?
  ) throws(ModelError) {
    self.folder = folder
    self.builder = builder
    self.keepsHistory = keepsHistory
    let commits = folder.history.links.count
    let meter = Meter(of: keepsHistory ? commits : min(1, commits), progress)
    self.meter = meter
    stale = try StaleIndexes(of: folder.headView, step: meter.tell)
  }

  mutating func run() throws(ModelError) {
    let head = folder.history.head
    guard head.rawValue > 0 else { return }
    let first = keepsHistory ? 1 : head.rawValue
    for number in first...head.rawValue {
      try write(CommitNumber(number))
      meter.progress.done += 1
    }
    try meter.tell("making it durable")
  }

  private mutating func write(_ number: CommitNumber) throws(ModelError) {
    let view: FolderView
    do throws(ModelError) {
      view = try folder.folderView(at: number)
    } catch {
      omissions.append("commit \(number): \(error)")
      return
    }
    let isRegistration = keepsHistory ? try folder.isRegistration(number) : false
    let action = isRegistration ? "" : keepsHistory ? view.iteration.actionName ?? "" : "convert \(folder.path)"
    try meter.tell("commit \(number)\(action.isEmpty ? "" : ": \(action)")")
    try builder.begin()
    var hasChanged = false
    for key in view.iteration.datastores.keys.sorted() {
      if try writeDatastore(key, of: view, at: number) { hasChanged = true }
    }
    // The history of a store hides commits that changed no record, unless they are marked as maintenance.
    try builder.commit(action, date: view.iteration.creationDate, isMaintenance: !isRegistration && !hasChanged)
    commitCount += 1
  }

  private mutating func writeDatastore(
    _ key: String, of view: FolderView, at number: CommitNumber
  ) throws(ModelError) -> Bool {
    guard let state = view.folderDatastore(key) else { return false }
    let meter = meter
    var conversion =
      conversions[key]
      ?? DatastoreConversion(key, builder, stale) { count throws(ModelError) in
        meter.progress.writtenCount += count
        try meter.tell()
      }
    defer { conversions[key] = conversion }
    guard let root = view.rootFile(of: key) else {
      if conversion.descriptor == nil { try conversion.register(as: firstState(of: key, after: number) ?? state) }
      return false
    }
    if conversion.rootFile == root.file { return false }
    conversion.rootFile = root.file
    return try conversion.write(state)
  }

  /// A datastore's state in the first commit that writes it, so that it has its types from the beginning.
  private func firstState(of key: String, after number: CommitNumber) -> FolderDatastore? {
    for later in number.rawValue..<max(number.rawValue, folder.history.head.rawValue) {
      let view = try? folder.folderView(at: CommitNumber(later + 1))
      if let view, view.rootFile(of: key) != nil { return view.folderDatastore(key) }
    }
    return nil
  }

  func report(for path: String) -> ConversionReport {
    var report = ConversionReport(path: path)
    report.commitCount = commitCount
    report.omissions = [folder.damage].compactMap(\.self) + omissions
    for (key, conversion) in conversions.sorted(by: { $0.key < $1.key }) {
      let records = (try? conversion.written?.primaryIndex.entries.rowCount) ?? 0
      report.datastores.append(
        ConversionReport.Datastore(
          key: key, recordCount: records, indexCount: conversion.descriptor?.indexes.count ?? 0))
      for index in conversion.written?.secondaryIndexes ?? [] {
        guard let reason = stale.reason(for: index, of: key) else { continue }
        report.staleIndexes.append(
          ConversionReport.StaleIndex(datastore: key, index: index.descriptor.name, reason: reason))
      }
      report.omissions += conversion.omissions.sorted { $0.key < $1.key }.map { text, count in
        count > 1 ? "\(text) (\(count) times)" : text
      }
      if let identifiers = conversion.written?.primaryIndex.identifiers {
        if identifiers.isDate {
          report.notes.append("\(key): its identifiers are dates, of which the folder keeps milliseconds")
        }
        if !identifiers.isKnown {
          report.notes.append(
            "\(key): identifiers of \(identifiers.name) keep their stored order, which only the app can compare")
        }
      }
    }
    report.notes += folder.openingReport.filter { $0 != folder.damage }
    return report
  }
}
