import Documents
import Expressions
import StorageEngine

/// Imports documents into a datastore, in one transaction: nothing is left of an import that fails.
///
/// The source is read twice: first to learn the types of the identifier and of the indexed fields (and how many
/// documents there are), then to write. The rules of the indexes are declared, so the datastore can be edited without
/// any Swift type. Memory does not grow with the source beyond what the transaction itself needs.
package struct Importer {
  package let store: OwnStore
  package let plan: ImportPlan
  /// Hears how far it is; the total is 0 while the source is read the first time.
  package var progress: WorkProgress?
  /// Hears the same with a step for each reading and for each index.
  package var activity: ActivityProgress?

  package init(
    _ store: OwnStore, _ plan: ImportPlan, progress: WorkProgress? = nil, activity: ActivityProgress? = nil
  ) {
    self.store = store
    self.plan = plan
    self.progress = progress
    self.activity = activity
  }

  /// - Parameter action: the commit's name; nil: `import NAME: n records`.
  package func run(_ source: inout some ImportSource, named action: String? = nil) throws(ModelError) -> ImportReport {
    let startedAt = LocalTime.now
    let survey = try ImportSurvey(plan, &source) { count in
      let step = Activity.Step(title: Self.surveyStep, done: count, total: 0, isComplete: false)
      let reading = Activity(
        title: "import \(plan.datastore)", done: count, total: 0, startedAt: startedAt, steps: [step])
      return (progress?(count, 0) ?? true) && (activity?(reading) ?? true)
    }
    let info = CommitInfo(action: action ?? "import \(plan.datastore): \(counted(survey.documentCount, "record"))")
    var report: ImportReport?
    do {
      let commit = try store.transact(info) { transaction throws(ModelError) in
        let read = Activity.Step(
          title: Self.surveyStep, done: survey.documentCount, total: survey.documentCount, isComplete: true)
        try store.whileBusy(
          info.action, step: "write the records", total: survey.documentCount, after: [read], startedAt: startedAt,
          progress: progress, activity: activity
        ) { meter throws(ModelError) in
          var work = try ImportWork(store: store, plan: plan, survey: survey, transaction: transaction)
          try work.read(&source, meter)
          report = work.report
        }
        if plan.isDryRun || report?.isAllRejected == true { throw ModelError.cancelled }
      }
      report?.commit = commit
    } catch .cancelled where report.map({ plan.isDryRun || $0.isAllRejected }) == true {
      // A dry run does everything but commit; of a file in which every document is rejected nothing is left.
    } catch {
      throw error
    }
    guard let report else { throw .cancelled }
    return report
  }

  private static let surveyStep = "read for types"
}

/// What the first reading of a source tells.
struct ImportSurvey {
  private(set) var documentCount = 0
  private(set) var identifier = TypeGuess()
  private(set) var indexes: [TypeGuess]

  init(
    _ plan: ImportPlan, _ source: inout some ImportSource, goesOn: (_ count: Int) -> Bool
  ) throws(ModelError) {
    indexes = Array(repeating: TypeGuess(), count: plan.indexes.count)
    let parts = WantedParts.parts(DocumentSelection([plan.identifier] + plan.indexes.map(\.path)))
    try source.rewind()
    while let row = try source.next(parts) {
      documentCount += 1
      if documentCount % 256 == 0, !goesOn(documentCount) { throw .cancelled }
      guard case .document(let document) = row.content else { continue }
      identifier.see(plan.document(document, underKey: row.key)[plan.identifier])
      for (position, index) in plan.indexes.enumerated() {
        let field = document[index.path]
        if index.kind.hasManyValues {
          if case .array(let elements)? = field { for element in elements { indexes[position].see(element) } }
        } else {
          indexes[position].see(field)
        }
      }
    }
    try source.rewind()
  }
}

extension ImportPlan {
  /// A document with its identifier in it, where the source only has it as the key that the document stands under.
  func document(_ document: Document, underKey key: String?) -> Document {
    guard let key, document[identifier] == nil else { return document }
    let value: Document = NumberText(key).flatMap { $0.isInteger ? .number($0) : nil } ?? .string(key)
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
  private let store: OwnStore
  private let transaction: any WriteTransaction
  private var repeats: RepeatedIdentifiers

  init(
    store: OwnStore, plan: ImportPlan, survey: ImportSurvey, transaction: any WriteTransaction
  ) throws(ModelError) {
    self.store = store
    self.plan = plan
    self.transaction = transaction
    if let present = try store.baseView(of: transaction).ownDatastore(plan.datastore) {
      addedIndexes = try Self.addedIndexes(plan, survey, present.descriptor)
      repeats = RepeatedIdentifiers(isNew: try present.count == 0)
      let base = try RecordIndexing(present)
      if let refusal = base.refusals.first { throw .refused(reason: refusal.sentence) }
      indexing = base
    } else {
      let descriptor = Self.newDescriptor(plan, survey)
      try DatastoreWriter.create(descriptor, in: transaction)
      addedIndexes = []
      repeats = RepeatedIdentifiers(isNew: true)
      indexing = RecordIndexing(declared: descriptor, isServed: store.engine.isServed)
    }
    var descriptor = indexing.descriptor
    for index in addedIndexes { descriptor.setIndex(index.name, to: index) }
    report = ImportReport(descriptor: descriptor)
    writer = DatastoreWriter(indexing.descriptor, in: transaction, format: indexing.format)
    try onWriter { [writer] in try writer.gatherEntries() }
  }

  mutating func read(_ source: inout some ImportSource, _ meter: WorkMeter) throws(ModelError) {
    let rows = ImportRows(plan: plan, indexing: indexing)
    try workingAhead(by: ImportRows.batchesAhead) { queue in
      rows.prepare(from: &source, into: queue)
    } use: { queue throws(ModelError) in
      while let batch = queue.take() {
        try write(batch, rows, meter)
        if let error = batch.error { throw error }
      }
    }
    try findRepeats(in: &source, rows)
    try onWriter { try writer.finish(meter) }
    for index in addedIndexes { try fill(index, meter) }
    try meter.finish()
  }

  /// Which rows have one identifier is only looked for where some have: the source is read once more.
  private mutating func findRepeats(in source: inout some ImportSource, _ rows: ImportRows) throws(ModelError) {
    guard !repeats.isEmpty else { return }
    let identifier = WantedParts.parts(DocumentSelection([plan.identifier]))
    try source.rewind()
    while let row = try source.next(identifier) {
      guard case .document(let found) = row.content,
        let bytes = try? rows.identifier(of: plan.document(found, underKey: row.key))
      else { continue }
      repeats.see(bytes, at: row.place)
    }
    report.repeats = repeats.found.prefix(ImportReport.rejectionLimit).map { bytes, places, count in
      ImportReport.Repeat(identifier: indexing.descriptor.storedKey(bytes), rows: places, count: count)
    }
    report.repeated = repeats.found.reduce(0) { $0 + $1.count - 1 }
  }

  private mutating func write(
    _ batch: ImportRows.Batch, _ source: ImportRows, _ meter: WorkMeter
  ) throws(ModelError) {
    let rows =
      switch batch.rows {
      case .prepared(let rows): rows
      case .read(let rows): try source.prepare(rows)
      }
    try foresee(rows)
    for row in rows {
      try write(row)
      try meter.advance()
    }
  }

  /// Rows that are new only change no entries.
  private func foresee(_ rows: [ImportRows.Prepared]) throws(ModelError) {
    try onWriter {
      try writer.foresee(
        rows.compactMap { row in
          if case .record(let record) = row.content { (record.identifier, record.values) } else { nil }
        }
      ) { current in
        plan.isNewOnly ? nil : try? indexing.values(of: RecordContent(stored: current.bytes))
      }
    }
  }

  private mutating func write(_ row: ImportRows.Prepared) throws(ModelError) {
    let record: ImportRows.Record
    switch row.content {
    case .record(let prepared): record = prepared
    case .rejected(let reason): return report.reject(row.place, reason)
    }
    let current = try onWriter { try writer.insertIfNew(record.identifier, record.bytes, values: record.values) }
    // Where identifiers that exist are rejected, a repeated one is so too.
    if !plan.isNewOnly { repeats.note(record.identifier, isNew: current == nil) }
    guard let current else {
      report.new += 1
      return
    }
    if plan.isNewOnly {
      let key = indexing.descriptor.storedKey(record.identifier)
      return report.reject(row.place, "there is a record \(key) already")
    }
    let oldValues = try? indexing.values(of: RecordContent(stored: current.bytes))
    let outcome = try onWriter {
      try writer.put(
        record.identifier, record.bytes, values: record.values, replacing: current, oldValues: oldValues)
    }
    if outcome == .unchanged { report.unchanged += 1 } else { report.changed += 1 }
  }

  /// Fills an index that was not there before, from what the transaction now holds.
  private func fill(_ index: IndexDescriptor, _ meter: WorkMeter) throws(ModelError) {
    try DatastoreWriter.createIndex(index, of: report.descriptor, in: transaction)
    try DatastoreWriter.store(report.descriptor, in: transaction)
    guard let rule = index.declaredRule,
      let tree = try onStorage({ () throws(StorageError) in try transaction.tree(.records(of: plan.datastore)) })
    else { return }
    let view = try store.baseView(of: transaction)
    let datastore = OwnDatastore(view: view, descriptor: report.descriptor, tree: tree)
    var fill = IndexFill(datastore: datastore, index: index, transaction: transaction)
    try fill.run(meter) { record throws(ModelError) in try rule.encodedValues(of: record.document()) }
  }

  private static func newDescriptor(_ plan: ImportPlan, _ survey: ImportSurvey) -> DatastoreDescriptor {
    let (encoding, swiftName) = survey.identifier.requiredEncoding
    return DatastoreDescriptor(
      key: plan.datastore, identifierType: swiftName, identifierEncoding: encoding,
      identifierPath: plan.identifier.description,
      indexes: zip(plan.indexes, survey.indexes).map { plan.descriptor($0, $1) })
  }

  /// The plan's indexes that the datastore has not got yet; throws where one of the same name has another rule.
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
