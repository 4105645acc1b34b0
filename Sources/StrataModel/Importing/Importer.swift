import StrataDocuments
import StrataExpressions
import StrataEngine

/// Imports documents into a datastore, in one transaction: nothing is left of an import that fails.
///
/// The source is read twice: first to learn the types of the identifier and of the indexed fields (and how many
/// documents there are), then to write. The rules of the indexes are declared, so the datastore can be edited without
/// any Swift type. Memory does not grow with the source beyond what the transaction itself needs.
package struct Importer {
  package let store: EngineStore
  package let plan: ImportPlan
  /// Called with the progress; the total is 0 while the source is read the first time.
  package var progress: WorkProgress?
  /// Called with the same and a step for each reading and for each index.
  package var activity: ActivityProgress?

  package init(
    _ store: EngineStore, _ plan: ImportPlan, progress: WorkProgress? = nil, activity: ActivityProgress? = nil
  ) {
    self.store = store
    self.plan = plan
    self.progress = progress
    self.activity = activity
  }

  /// - Parameter action: the commit's name. With nil it is `import NAME: n records`.
  package func run(_ source: inout some ImportSource, named action: String? = nil) throws(ModelError) -> ImportReport {
    if plan.datastore.isEmpty { throw .refused(reason: "a datastore needs a name") }
    let startedAt = LocalTime.now
    let shape = try store.shape(of: plan.datastore)
    source.follow(shape, identifier: plan.identifier, types: plan.types)
    let survey = try ImportSurvey(plan, &source) { count in
      let step = Activity.Step(title: Self.surveyStep, done: count, total: 0, isComplete: false)
      let reading = Activity(
        title: "import \(plan.datastore)", done: count, total: 0, startedAt: startedAt, steps: [step])
      return (progress?(count, 0) ?? true) && (activity?(reading) ?? true)
    }
    let info = CommitInfo(action: action ?? "import \(plan.datastore): \(counted(survey.documentCount, "record"))")
    var report: ImportReport?
    do {
      let count = survey.documentCount
      let read = Activity.Step(title: Self.surveyStep, done: count, total: count, isComplete: true, cost: 10)
      let planned =
        [("write the records", 20)]
        + plan.indexes.map(\.name).sorted().map {
          (WorkStep.writing($0), WorkAccount.costOfEntry)
        }
      let steps =
        [read] + planned.map { Activity.Step(title: $0.0, done: 0, total: count, isComplete: false, cost: $0.1) }
      let commit = try store.whileBusy(
        (plan.isDryRun ? "preview of " : "") + info.action, steps, of: plan.datastore, startedAt: startedAt,
        progress: progress, activity: activity
      ) { meter in
        try store.transact(info) { transaction in
          var work = try ImportWork(store: store, plan: plan, survey: survey, shape: shape, transaction: transaction)
          try work.read(&source, meter)
          report = work.report
          meter.leftOut = work.report.rejected
          meter.isTrial = report.map(isLeftOut) == true
          if meter.isTrial { throw ModelError.cancelled }
        }
      }
      report?.commit = commit
    } catch .cancelled where report.map(isLeftOut) == true {
      // A dry run does everything but commit; a file that brings nothing, or would take fields away, leaves nothing behind.
    }
    guard var report else { throw .cancelled }
    report.indexesWithoutValues = zip(plan.indexes, survey.indexes).filter { !$1.hasValues }.map(\.0)
    return report
  }

  private static let surveyStep = "read for types"

  /// Whether nothing is to be written of an import that was done.
  private func isLeftOut(_ report: ImportReport) -> Bool {
    let isEmpty = report.new + report.changed + report.unchanged == 0
    return plan.isDryRun || isEmpty && (report.rejected > 0 || plan.later == nil)
      || !report.losses.isEmpty && plan.existing == .replaced
  }
}

extension ImportSource {
  /// Sets the types of a table's columns: those that the user gives, else those of the datastore's values, whatever the cells look like.
  /// Identifiers of a new datastore are text if one of them is not a number in its shortest form, so that `1.1` and `1.10` differ.
  mutating func follow(_ shape: StoredShape?, identifier: DocumentPath?, types: [DocumentPath: CellType] = [:]) {
    for column in guessedColumns ?? [] {
      let isIdentifier = column.path == identifier
      if let type = types[column.path] {
        follow(ColumnRule(type: type, origin: "as --type says"), at: column.path)
      } else if let rule = shape?.rule(of: column.path, isIdentifier: isIdentifier) {
        follow(rule, at: column.path)
      } else if isIdentifier, shape == nil, column.type == .number || column.type == .integer, column.hasOddDecimal {
        follow(ColumnRule(type: .text, origin: "as an identifier"), at: column.path)
      }
    }
  }
}

/// The findings of the first reading of a source.
struct ImportSurvey {
  private(set) var documentCount = 0
  private(set) var identifier = TypeGuess()
  private(set) var indexes: [TypeGuess]
  /// The columns of a table of cells; nil for documents.
  let columns: [DocumentPath]?
  /// Whether the rows are lines of `export --versions`, and the greatest version that they name.
  private(set) var hasVersions = false
  private(set) var version: (text: String, isText: Bool)?

  init(
    _ plan: ImportPlan, _ source: inout some ImportSource, goesOn: (_ count: Int) -> Bool
  ) throws(ModelError) {
    var hasTextKeys = false
    indexes = Array(repeating: TypeGuess(), count: plan.indexes.count)
    columns = source.guessedColumns?.map(\.path)
    try source.rewind()
    if case .document(let first)? = try source.next()?.content {
      hasVersions = columns == nil && VersionedLine(first, plan.identifier) != nil
    }
    let selection = DocumentSelection([plan.identifier] + plan.indexes.map(\.path))
    let parts = hasVersions ? WantedParts.all : .parts(selection)
    try source.rewind()
    while let row = try source.next(parts) {
      documentCount += 1
      if documentCount % 256 == 0, !goesOn(documentCount) { throw .cancelled }
      guard case .document(var document) = row.content else { continue }
      if hasVersions, let line = VersionedLine(document, plan.identifier) {
        document = line.value
        if version.map({ line.isNewer(than: $0.text) }) ?? true { version = (line.version, line.isText) }
      }
      let field = plan.document(document, underKey: row.key, asText: false)[plan.identifier]
      identifier.see(field)
      // If one key is text, all are.
      if row.key != nil, case .string? = field { hasTextKeys = true }
      for (position, index) in plan.indexes.enumerated() {
        let field = document[index.path]
        if index.kind.hasManyValues {
          if case .array(let elements)? = field { for element in elements { indexes[position].see(element) } }
        } else {
          indexes[position].see(field)
        }
      }
    }
    for value in plan.later ?? [] { identifier.see(value) }
    if hasTextKeys {
      identifier = TypeGuess()
      identifier.see("")
    }
    try source.rewind()
  }
}

extension ImportPlan {
  /// A document with its identifier in it, if the source has the identifier only as the key of the document.
  func document(_ document: Document, underKey key: String?, asText: Bool) -> Document {
    guard let key, document[identifier] == nil else { return document }
    let number = asText ? nil : NumberText(key).flatMap { $0.isInteger && $0.canonicalText == key ? $0 : nil }
    let value = number.map(Document.number) ?? .string(key)
    return (try? document.setting(identifier, to: value)) ?? document
  }

  fileprivate func descriptor(_ index: Index, _ guess: TypeGuess) -> IndexDescriptor {
    let (encoding, swiftName) = index.kind.hasManyValues ? guess.requiredEncoding : guess.encoding
    return IndexDescriptor(
      name: index.name, kind: index.kind, storage: index.storage, encoding: encoding, valueType: swiftName,
      rule: index.path.description, isUnique: index.isUnique)
  }
}

/// The second reading: writes each document, while another thread reads and prepares those that follow.
private struct ImportWork {
  let plan: ImportPlan
  private(set) var report: ImportReport
  private let indexing: RecordIndexing
  private let writer: DatastoreWriter
  /// Indexes that the import adds to a datastore that has records already: filled at the end from all of them.
  private let addedIndexes: [IndexDescriptor]
  private let store: EngineStore
  private let transaction: any WriteTransaction
  private let rows: ImportRows
  private var repeats: RepeatedIdentifiers
  private var losses: [DocumentPath: Int] = [:]
  /// The datastore as it was before.
  private let before: EngineDatastore?

  init(
    store: EngineStore, plan: ImportPlan, survey: ImportSurvey, shape: StoredShape?, transaction: any WriteTransaction
  ) throws {
    self.store = store
    self.plan = plan
    self.transaction = transaction
    before = try store.baseView(of: transaction).ownDatastore(plan.datastore)
    if let name = plan.indexes.map(\.name).firstRepeated {
      throw ModelError.refused(reason: "two indexes cannot both have the name \(name)")
    }
    if let present = before {
      addedIndexes = try Self.addedIndexes(plan, survey, present.descriptor)
      repeats = RepeatedIdentifiers(isNew: try present.count == 0)
      let base = try RecordIndexing(present)
      if let refusal = base.refusals.first { throw ModelError.refused(reason: refusal.sentence) }
      indexing = base
    } else {
      let descriptor = Self.newDescriptor(plan, survey)
      try DatastoreWriter.create(descriptor, in: transaction)
      addedIndexes = []
      repeats = RepeatedIdentifiers(isNew: true)
      indexing = RecordIndexing(declared: descriptor, isServed: store.engine.isServed)
    }
    rows = ImportRows(plan: plan, indexing: indexing, survey: survey, shape: shape)
    var descriptor = indexing.descriptor
    for index in addedIndexes { descriptor.setIndex(index.name, to: index) }
    report = ImportReport(descriptor: descriptor)
    writer = DatastoreWriter(indexing.descriptor, in: transaction, format: indexing.format)
    try writer.gatherEntries()
  }

  mutating func read(_ source: inout some ImportSource, _ meter: WorkMeter) throws {
    let rows = rows
    // A server runs the transaction again if another program has changed what it read.
    try source.rewind()
    try workingAhead(by: ImportRows.batchesAhead) { queue in
      rows.prepare(from: &source, into: queue)
    } use: { queue in
      while let batch = queue.next() {
        try write(batch, meter)
        if let error = batch.error { throw error }
      }
    }
    try findRepeats(in: &source)
    try findLosses(in: &source)
    try writer.finish(meter)
    for index in addedIndexes { try fill(index, meter) }
    try meter.finish()
  }

  /// Finds the rows that share an identifier, if there are any: this reads the source once more.
  private mutating func findRepeats(in source: inout some ImportSource) throws(ModelError) {
    guard !repeats.isEmpty else { return }
    let identifier = rows.hasVersions ? .all : WantedParts.parts(DocumentSelection([plan.identifier]))
    try source.rewind()
    while let row = try source.next(identifier) {
      guard case .document(let found) = row.content,
        let bytes = try? rows.identifier(of: rows.document(found, underKey: row.key))
      else { continue }
      repeats.see(bytes, at: row.place)
    }
    report.repeats = repeats.found.prefix(ImportReport.rejectionLimit).map { bytes, places, count in
      ImportReport.Repeat(identifier: indexing.descriptor.storedKey(bytes), rows: places, count: count)
    }
    report.repeated = repeats.found.reduce(0) { $0 + $1.count - 1 }
  }

  /// Finds fields that records lose. If another document of the source has such a field, it is missing on purpose.
  private mutating func findLosses(in source: inout some ImportSource) throws(ModelError) {
    if rows.columns == nil, !losses.isEmpty {
      try source.rewind()
      while !losses.isEmpty, let row = try source.next(.all) {
        guard case .document(let found) = row.content else { continue }
        let document = rows.hasVersions ? VersionedLine(found, plan.identifier)?.value ?? found : found
        losses = losses.filter { document[$0.key] == nil }
      }
    }
    report.losses = losses.map { ImportReport.Loss(path: $0.key, records: $0.value) }
      .sorted { ($1.records, $0.path.description) < ($0.records, $1.path.description) }
  }

  private mutating func write(_ batch: ImportRows.Batch, _ meter: WorkMeter) throws {
    let prepared =
      switch batch.rows {
      case .prepared(let prepared): prepared
      case .read(let read): try rows.prepare(read)
      }
    try prefetch(prepared)
    for row in prepared {
      try write(row)
      try meter.advance()
    }
  }

  /// Rows that are new only change no entries.
  private func prefetch(_ rows: [ImportRows.Prepared]) throws {
    try writer.prefetch(
      rows.compactMap { row in
        if case .record(let record) = row.content, case .success(let values) = record.values {
          (record.identifier, values)
        } else {
          nil
        }
      }
    ) { current in
      plan.existing == .kept ? nil : try? indexing.values(of: RecordContent(stored: current.bytes))
    }
  }

  private mutating func write(_ row: ImportRows.Prepared) throws {
    let record: ImportRows.Record
    switch row.content {
    case .record(let prepared): record = prepared
    case .rejected(let reason): return report.reject(row.place, reason)
    }
    let current: DatastoreWriter.Current?
    switch record.values {
    case .success(let values): current = try writer.insertIfNew(record.identifier, record.bytes, values: values)
    case .failure(let error):
      current = try writer.current(record.identifier)
      if current == nil { return try reject(row, error) }
    }
    if current == nil, let refusal = record.refusal { throw ModelError.refused(reason: "\(row.place): \(refusal)") }
    guard let current else {
      // Where identifiers that exist are rejected, a repeated one is so too.
      if plan.existing != .kept { _ = repeats.add(record.identifier, isNew: true) }
      report.new += 1
      return
    }
    if plan.existing == .kept {
      let key = indexing.descriptor.storedKey(record.identifier)
      return report.reject(row.place, "there is a record \(key) already")
    }
    let stored = try RecordContent(stored: current.bytes)
    let replacing: ImportRows.Record
    do throws(ModelError) { replacing = try rows.record(record, over: stored) } catch { return try reject(row, error) }
    // Also of a row that an index rejects: mostly because it lacks that field.
    for path in replacing.losses { losses[path, default: 0] += 1 }
    let new = try RecordContent(stored: Bytes(replacing.bytes))
    let outcome: DatastoreWriter.Outcome
    switch replacing.values {
    // A record that an index left out may come again as it is.
    case .failure where new == stored: outcome = .unchanged
    case .failure(let error): return try reject(row, error)
    case .success(let values):
      outcome = try writer.put(
        record.identifier, replacing.bytes, values: values, replacing: current,
        oldValues: try? indexing.values(of: stored))
    }
    // A rejected row does not count as a row of its record.
    guard repeats.add(record.identifier, isNew: false) else {
      if outcome == .unchanged { report.unchanged += 1 } else { report.changed += 1 }
      return
    }
    // A record that has several rows counts once: as changed or unchanged between its state before the import and its last row.
    guard let first = try before?.replaceable(indexing.descriptor.storedKey(record.identifier)) else { return }
    func isChanged(_ content: RecordContent) -> Bool { content != first.stored }
    let difference = (isChanged(new) ? 1 : 0) - (isChanged(stored) ? 1 : 0)
    report.changed += difference
    report.unchanged -= difference
  }

  private mutating func reject(_ row: ImportRows.Prepared, _ error: ModelError) throws(ModelError) {
    guard case .refused(let reason) = error else { throw error }
    report.reject(row.place, reason)
  }

  /// Fills an index that was not there before, from what the transaction now holds.
  private func fill(_ index: IndexDescriptor, _ meter: WorkMeter) throws {
    try DatastoreWriter.createIndex(index, of: report.descriptor, in: transaction)
    try DatastoreWriter.store(report.descriptor, in: transaction)
    guard let rule = index.declaredRule, let tree = try transaction.tree(.records(of: plan.datastore)) else { return }
    let view = try store.baseView(of: transaction)
    let datastore = EngineDatastore(view: view, descriptor: report.descriptor, tree: tree)
    var fill = IndexFill(datastore: datastore, index: index, transaction: transaction)
    try fill.run(meter) { record throws(ModelError) in try rule.encodedValues(of: record.document()) }
  }

  private static func newDescriptor(_ plan: ImportPlan, _ survey: ImportSurvey) -> DatastoreDescriptor {
    let (encoding, swiftName) = survey.identifier.requiredEncoding
    return DatastoreDescriptor(
      key: plan.datastore, version: survey.version?.text ?? plan.version ?? "1",
      versionIsString: survey.version?.isText ?? plan.version.map { NumberText($0) == nil } ?? false,
      identifierType: swiftName, identifierEncoding: encoding,
      identifierPath: plan.identifier.description,
      indexes: zip(plan.indexes, survey.indexes).map { plan.descriptor($0, $1) })
  }

  /// The plan's indexes that the datastore does not have yet; throws if one of the same name has another rule.
  private static func addedIndexes(
    _ plan: ImportPlan, _ survey: ImportSurvey, _ descriptor: DatastoreDescriptor
  ) throws(ModelError) -> [IndexDescriptor] {
    if let path = descriptor.identifierPath, path != plan.identifier.description {
      throw .refused(reason: "the identifier of \(plan.datastore) is \(path), not \(plan.identifier)")
    }
    var added: [IndexDescriptor] = []
    for (index, guess) in zip(plan.indexes, survey.indexes) {
      guard let present = descriptor.index(index.name) else {
        added.append(plan.descriptor(index, guess))
        continue
      }
      guard present.kind == index.kind, present.rule ?? index.path.description == index.path.description else {
        throw .refused(
          reason: "\(plan.datastore) has an index \(index.name) already: \(present.kind.rawValue) on "
            + (present.rule ?? present.keyPathName ?? "a rule of the app"))
      }
    }
    return added
  }
}
