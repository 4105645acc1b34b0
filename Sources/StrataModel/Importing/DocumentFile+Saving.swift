import StrataDocuments
import StrataEngine
import StrataFoundation

extension DocumentFile {
  /// Saves what the file's store holds as a store on the disk, with its commits. Its records are known by the field that tells
  /// the rows apart, if there is one and it does so in every commit; otherwise by the numbers of their rows.
  ///
  /// - Parameter path: where nothing lies yet.
  /// - Returns: the number of commits, and whether there is a field that does not tell the rows apart.
  package func save(
    _ store: EngineStore, as path: String, progress: WorkProgress?
  ) throws(ModelError) -> (commits: Int, isByRow: Bool) {
    guard !FileManager.default.fileExists(atPath: path) else {
      throw .refused(reason: "\(path) exists already")
    }
    if let commits = try saveKeyed(store, as: path, progress) { return (commits, false) }
    return (Int(try store.copy(to: path, at: nil, progress: progress).commitsKept), identifier != nil)
  }

  /// Returns the number of commits; nil if no field tells the records apart. Another process may make a store at the path meanwhile, so
  /// nothing is removed there.
  private func saveKeyed(
    _ store: EngineStore, as path: String, _ progress: WorkProgress?
  ) throws(ModelError) -> Int? {
    guard let identifier, let rowNumber, let opened = report.commit else { return nil }
    let draft = try onStorage { try StoreDraft(at: path) }
    defer { draft.cancel() }
    let saved = try EngineStore.open(path: draft.workPath, program: store.program, creates: true)
    let keyed = KeyedCopy(source: store, target: saved, file: self, identifier: identifier, rowNumber: rowNumber)
    guard try keyed.run(from: opened, progress) else { return nil }
    let commits = Int(saved.commitCount)
    try onStorage { try saved.engine.close() }
    try onStorage { try draft.finish() }
    return commits
  }

  /// The bytes of a file of this form with the records as they are now, beside which the file itself is of no account.
  package func bytes(from store: EngineStore, progress: WorkProgress? = nil) throws(ModelError) -> [UInt8] {
    var text: [UInt8] = []
    switch format {
    case .jsonArray: text = Array("[\n]\n".utf8)
    case .jsonObject: text = Array("{\n}\n".utf8)
    case .jsonLines, .jsonDocuments: break
    case .separated(let separator):
      for (index, column) in columns.enumerated() {
        let separator = separator.asciiValue ?? UInt8(ascii: ",")
        if index > 0 { text.append(separator) }
        TableWriter.append(column.name, separator: separator, isOnly: false, to: &text)
      }
      text.append(UInt8(ascii: "\n"))
    }
    let stored = try store.view(store.engine.head).requiredDatastore(datastore)
    var rows = RecordRows(datastore: stored, rowNumber: rowNumber)
    var documents: [Document] = []
    while case .document(let document)? = try rows.next()?.content {
      documents.append(document)
      try report(documents.count, to: progress)
    }
    return try write(over: encoding.bytes(of: text, isMarked: false), [:], documents, nil)
  }
}

/// The records of a store whose identifiers are the numbers of rows, under a field of theirs in another store.
private struct KeyedCopy {
  let source: EngineStore
  let target: EngineStore
  let file: DocumentFile
  let identifier: DocumentPath
  let rowNumber: DocumentPath

  /// Whether the field told all records apart.
  func run(from opened: CommitNumber, _ progress: WorkProgress?) throws(ModelError) -> Bool {
    let stored = try source.engineView(at: opened).requiredDatastore(file.datastore)
    var rows = RecordRows(datastore: stored, rowNumber: rowNumber)
    let commits = (opened.rawValue..<source.head.commit.rawValue).map { CommitNumber($0 + 1) }
    let plan = ImportPlan(datastore: file.datastore, identifier: identifier, later: try identifiers(of: commits))
    let report = try Importer(target, plan, progress: progress).run(&rows, named: source.commit(opened).action)
    guard report.rejected == 0, report.repeated == 0 else { return false }
    for commit in commits {
      guard let changes = try changes(of: commit) else { return false }
      if !changes.isEmpty {
        _ = try target.commit(changes, named: source.commit(commit).action, options: EditOptions())
      }
    }
    for index in try source.view(source.engine.head).requiredDatastore(file.datastore).descriptor.indexes {
      _ = try target.addIndex(index, to: file.datastore, options: EditOptions())
    }
    return true
  }

  /// The values of the field in the records that some commits wrote.
  private func identifiers(of commits: [CommitNumber]) throws(ModelError) -> [Document] {
    var found: [Document] = []
    for commit in commits {
      let reader = try source.changes(of: commit)
      while case let part = try reader.next(512), !part.isEmpty {
        for change in part { if let value = try change.new?.document()[identifier] { found.append(value) } }
      }
    }
    return found
  }

  /// Nil if two records would have one identifier, or one has none.
  private func changes(of commit: CommitNumber) throws(ModelError) -> ChangeSet? {
    let datastore = try target.view(target.engine.head).requiredDatastore(file.datastore)
    var (old, new): ([StoredKey: RecordContent], [StoredKey: RecordContent]) = ([:], [:])
    let reader = try source.changes(of: commit)
    while case let part = try reader.next(512), !part.isEmpty {
      for change in part {
        if let record = change.old {
          guard let (key, _) = try self.record(record, in: datastore) else { return nil }
          old[key] = try datastore.record(key)?.stored
        }
        if let record = change.new {
          guard let (key, content) = try self.record(record, in: datastore), new[key] == nil else { return nil }
          new[key] = content
        }
      }
    }
    var changes = ChangeSet()
    for (key, content) in new {
      let before = try datastore.record(key)?.stored
      if before != nil, old[key] == nil { return nil }
      if before != content {
        changes.changes.append(RecordEdit(datastore: file.datastore, identifier: key, old: before, new: content))
      }
    }
    for (key, content) in old where new[key] == nil {
      changes.changes.append(RecordEdit(datastore: file.datastore, identifier: key, old: content, new: nil))
    }
    return changes
  }

  private func record(
    _ record: Record, in datastore: EngineDatastore
  ) throws(ModelError) -> (StoredKey, RecordContent)? {
    let descriptor = datastore.descriptor
    let whole = try record.document()
    let document = try onDocument(whole.removing(rowNumber))
    guard let field = document[identifier], let value = descriptor.identifierEncoding.keyValue(of: field) else {
      return nil
    }
    let bytes = try onDocument(descriptor.coding.encode(document))
    return (
      descriptor.storedKey(try descriptor.identifierEncoding.encode(value)),
      RecordContent(version: descriptor.version, bytes: bytes)
    )
  }
}

/// The records of a datastore as a source, without the field that numbers them.
private struct RecordRows: ImportSource {
  let datastore: EngineDatastore
  let rowNumber: DocumentPath?
  var records: (any RecordCursor)?
  var line = 0

  mutating func rewind() throws(ModelError) {
    records = nil
    line = 0
  }

  mutating func next(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    var cursor = if let records { records } else { try datastore.records() }
    defer { records = cursor }
    guard try cursor.next(), let record = try cursor.rawRecord() else { return nil }
    line += 1
    var document = try record.document()
    if let rowNumber { document = try onDocument(document.removing(rowNumber)) }
    return ImportRow(content: .document(document), place: SourcePlace(file: datastore.descriptor.key, line: line))
  }
}
