import StrataDocuments
import StrataEngine
import StrataModel

/// Whole records, one or many: new ones, copies, deletes, restores, bulk changes. Every command ends in a staged step.
extension Browser {
  mutating func insert() {
    guard focus == .record, record.selectedLine != nil || record.answer?.problem != nil else { return insertRecord() }
    if let (place, document) = readRecord(for: .insert), let line = record.selectedLine {
      insertPart(place, document, line)
    }
  }

  /// Inserts a new element before the selected one, or a new member by name.
  private mutating func insertPart(_ place: RecordPlace, _ document: Document, _ line: TreeLine) {
    var (path, old) = (line.path, document[line.path])
    if case .array(let elements)? = old { (path, old) = (path.appending(elements.count), elements.last) }
    guard case .index? = path.components.last else { return editRecordExternally(hint: "add the field here") }
    present(ValueEditor(place: place, stored: record.stored, path: path, old: old, isNew: true, text: ""))
  }

  /// Opens the editor on a new record: the fields of the selected record with empty values.
  private mutating func insertRecord() {
    guard let datastore = session.current else { return }
    if record.place != nil, !record.isCurrent(session) { return record.waiting = .insert }
    let file = session.configuration.documentFile
    let fields = file?.datastore == datastore.key ? file?.columns.map(\.path) ?? [] : []
    let template =
      record.document.map { Self.template(of: $0) }
      ?? fields.reduce(.object([])) { (try? $0.setting($1, to: .null)) ?? $0 }
    // It has the members of the selected record, so it gets that record's version.
    let staged = record.place.flatMap { session.staged.edits[$0]?.new }
    let version = (staged?.version ?? record.answer?.record?.version) ?? datastore.descriptor.version
    numbering([template], in: datastore.key) { browser, templates in
      browser.openEditor(
        .record(.new(RecordContent(version: version, bytes: templates[0].json(.pretty)), in: datastore.key)),
        text: templates[0].prettyText,
        header: ["a new record of \(datastore.key), version \(version); an empty file cancels"],
        ifUnchanged: "no record is staged")
    }
  }

  /// Gives new rows of an opened file the next row numbers, if rows have no other identifier, and continues with them.
  private mutating func numbering(
    _ documents: [Document], in datastore: String, then open: @escaping @Sendable (inout Browser, [Document]) -> Void
  ) {
    guard let file = session.configuration.documentFile, let path = file.rowNumber, file.datastore == datastore else {
      return open(&self, documents)
    }
    let last = Inquiry { [commit = session.head] context throws(ModelError) in
      let datastore = try context.datastore(datastore, at: commit)
      let count = try datastore.count
      return try datastore.primary.entries(at: max(0, count - 1)..<count).last?.identifier.value
    }
    session.start(.identify, last) { browser, last in
      let staged = browser.session.insertions[datastore] ?? []
      let values = staged.map(\.identifier.value) + [last].compactMap(\.self)
      var number = values.compactMap { if case .integer(let number) = $0 { Int(number) } else { nil } }.max() ?? 0
      open(
        &browser,
        documents.map { document in
          number = number.addingClamped(1)
          return (try? document.setting(path, to: .number(NumberText(number)))) ?? document
        })
    }
  }

  static func template(of document: Document) -> Document {
    guard case .object(let members) = document else { return .object([]) }
    return .object(
      members.map { member in
        let value: Document =
          switch member.value {
          case .string: ""
          case .number: 0
          case .bool: false
          case .array: []
          case .object: template(of: member.value)
          default: .null
          }
        return Document.Member(member.name, value)
      })
  }

  mutating func paste() {
    if focus == .record, let value = session.copied.value, record.selectedLine != nil {
      guard let (place, _) = readRecord(for: .paste), let line = record.selectedLine,
        !refusesIdentifier(line.path, of: place)
      else { return }
      stageField(place, over: record.stored, line.path, value)
      return
    }
    guard !session.copied.records.isEmpty, let datastore = session.current else {
      return session.warn("no record was copied (yr)")
    }
    stageCopies(session.copied.records, of: session.copied.datastore, in: datastore)
  }

  mutating func copyFromRecord(_ command: Command) {
    guard let (place, stored) = readRecord(for: command) else { return }
    guard command == .copyValue else { return session.gather(.copy, of: place) }
    let path = table.selectedField(session)
    if let path, table.source?.joined.contains(where: { $0.path.contains(path) }) == true {
      return session.warn("this value is not whole here: copy it from its own record")
    }
    let document = table.source?.adding(to: stored) ?? stored
    session.copy(path.map { document[$0] } ?? document)
  }

  /// Opens the editor on copies, in which the user gives them other identifiers. Versions of another datastore mean nothing in this one.
  ///
  /// - Parameter words: Names of records that are left out, for the head of the text.
  private mutating func stageCopies(
    _ records: [Record], of origin: String, in datastore: Outline.Datastore, besides words: String? = nil
  ) {
    let path = table.columns.identifierPath ?? datastore.descriptor.identifierPath
    let readable = records.compactMap { record in (try? record.document()).map { (record: record, document: $0) } }
    let fresh = readable.map { record, _ in
      let version = origin == datastore.key ? record.version : datastore.descriptor.version
      return RecordEdit.new(RecordContent(version: version, bytes: record.content), in: datastore.key)
    }
    let name = path.map { String($0.drop { $0 == "." }) } ?? "identifier"
    numbering(readable.map { $0.document }, in: datastore.key) { browser, documents in
      guard let first = documents.first else { return }
      browser.openEditor(
        fresh.count == 1 ? .record(fresh[0]) : .records(fresh),
        text: fresh.count == 1 ? first.prettyText : documents.map(\.compactJSON).joined(separator: "\n"),
        header: [words, "a copy in \(datastore.key): give it another \(name); an empty file cancels"].compactMap(\.self)
      )
    }
  }

  // MARK: Gathered records

  mutating func gathered(_ answer: GatherAnswer) {
    let key = answer.request.source.datastore
    var answer = answer
    if answer.request.purpose.takesStaged, let descriptor = session.outline?.datastore(key)?.descriptor {
      for (index, record) in answer.records.enumerated() where session.asOf == nil {
        guard let staged = begun(record, in: descriptor).new, staged != record.stored else { continue }
        answer.records[index] = Record(
          identifier: record.identifier, version: staged.version, content: staged.bytes,
          coding: descriptor.coding(of: staged.bytes))
      }
      let chosen = Set(answer.request.chosen)
      for edit in session.insertions[key] ?? [] where chosen.contains(edit.identifier) {
        guard let new = edit.new else { continue }
        answer.records.append(
          Record(identifier: edit.identifier, version: new.version, content: new.bytes, coding: descriptor.coding))
      }
    }
    // The staged edit of an unreadable record is there in its place, but not for a restore, which reads an older commit.
    let leftOut = answer.unreadable.filter { identifier, _ in
      answer.request.purpose.restored != nil || session.asOf != nil || session.staged[key, identifier]?.new == nil
    }
    answer.records.removeAll { leftOut[$0.identifier] != nil }
    let words = leftOut.map { "record \($0) of \(key) is left out: \($1)" }.wordsOfLeftOut
    if let words, answer.records.isEmpty, leftOut.count >= answer.request.which.count {
      return session.complain(words)
    }
    defer { if let words { session.add(words) } }
    switch answer.request.purpose {
    case .copy:
      let text = answer.records.compactMap { try? $0.document().compactJSON }.joined(separator: "\n")
      session.copy(text, what: answer.records.count == 1 ? "record" : "\(answer.records.count) records")
      session.copied = Copied(records: answer.records, datastore: key)
    case .delete:
      if let staged = answer.staged, answer.request.stagedRevision == session.stagedRevision {
        replaceStagedChanges(with: staged)
      } else {
        stage(.deleting(answer.records, of: answer.request.chosen, in: key, over: session.staged))
        table.clearMarks()
      }
    case .duplicate:
      guard let datastore = session.outline?.datastore(key) else { return }
      stageCopies(answer.records, of: key, in: datastore, besides: words)
    case .editExternally: open(answer.records, in: key, besides: words)
    case .mend(let reason):
      guard let record = answer.records.first else { return session.warn("the record is not there any more") }
      openRecord(
        RecordPlace(datastore: key, identifier: record.identifier), over: record.stored,
        header: [reason, "\(key) \(record.identifier); an empty file cancels"])
    case .restore(let commit): stageRestore(answer, from: commit) { leftOut[$0] == nil }
    case .restoreField(let path, let commit): stageRestore(answer, of: path, from: commit)
    }
  }

  /// The edit that goes on with a record: its stored content, with the staged edit over it.
  private func begun(_ record: Record, in descriptor: DatastoreDescriptor) -> RecordEdit {
    let place = RecordPlace(datastore: descriptor.key, identifier: record.identifier)
    return .begun(at: place, over: record.stored, session.staged.edits[place], descriptor)
  }

  /// Opens records as they will be, one a line. Those that are staged for deletion are left out.
  ///
  /// - Parameter words: Names of further records that are left out, for the head of the text.
  private mutating func open(_ records: [Record], in key: String, besides words: String?) {
    guard let descriptor = session.outline?.datastore(key)?.descriptor else { return }
    var (edits, lines): ([RecordEdit], [String]) = ([], [])
    for record in records {
      let begun = begun(record, in: descriptor)
      guard let content = begun.new, let document = try? descriptor.document(of: content) else { continue }
      edits.append(begun)
      lines.append(document.compactJSON)
    }
    let title = "\(NumberFormat.counted(edits.count, "record")) of \(key), one a line; an empty file cancels"
    openEditor(
      .records(edits), text: lines.joined(separator: "\n"), header: [words, title].compactMap(\.self))
  }

  /// Stages one field as it was, over what is staged for the record. A field that the record did not have is removed.
  private mutating func stageRestore(_ answer: GatherAnswer, of path: DocumentPath, from commit: CommitNumber) {
    guard let old = try? answer.records.first?.document(), let (identifier, present) = answer.present.first else {
      return session.warn("the record does not exist at \(commit) or now: r restores the whole record")
    }
    stageDocument(
      RecordPlace(datastore: answer.request.source.datastore, identifier: identifier), over: present.stored,
      title: "restored \(path.shortText) of \(identifier) from \(commit)"
    ) { document throws(DocumentError) in
      guard let value = old[path] else { return try document.removing(path) }
      return try document.setting(path, to: value)
    }
  }

  private mutating func stageRestore(
    _ answer: GatherAnswer, from commit: CommitNumber, where isRead: (StoredKey) -> Bool
  ) {
    let key = answer.request.source.datastore
    var wanted = answer.records.map(\.identifier)
    if case .identifiers(let identifiers) = answer.request.which { wanted = identifiers.filter(isRead) }
    let old = Dictionary(answer.records.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
    var edits: [RecordEdit] = []
    for identifier in wanted {
      let present = answer.present[identifier]
      let content = old[identifier]?.stored
      let now = session.staged[key, identifier].map(\.new) ?? present?.stored
      guard content != now else { continue }
      edits.append(RecordEdit(datastore: key, identifier: identifier, old: present?.stored, new: content))
    }
    guard !edits.isEmpty else { return session.say("it is as it was at \(commit) already") }
    let which = edits.count == 1 ? "\(edits[0].identifier)" : "\(edits.count) records"
    stage(StagedStep(title: "restored \(which) from \(commit)", edits: edits))
  }

  /// `r` and `c` at an older commit: the shown state becomes the staged one.
  mutating func restoreHere(_ command: Command) {
    guard let asOf = session.asOf, let place = record.place else {
      return session.warn("choose a commit in the history first (H)")
    }
    let path = command == .restoreField ? record.selectedLine?.path : nil
    if command == .restoreRecord || path != nil { session.restore(place, path, from: asOf) }
  }

  mutating func restoreStore(_ argument: String) {
    let named = session.outline?.datastores.map(\.key).filter { argument.hasSuffix(" \($0)") } ?? []
    let datastore = named.max { $0.count < $1.count }
    let commit = String(argument.dropLast(datastore.map { $0.count + 1 } ?? 0))
    session.start(.resolve, ResolveRequest(name: commit)) {
      $0.present(ReviewOverlay(subject: .restore($1, datastore: datastore)))
    }
  }

  mutating func changeIndex(_ command: Command, _ argument: String?) {
    guard let datastore = session.datastore else { return }
    let change: IndexChange
    switch command {
    case .addIndex:
      guard let added = try? IndexChange(adding: argument ?? "") else { return }
      change = added
    case .dropIndex: change = .drop(argument ?? "")
    default:
      guard let name = argument ?? table.source?.index else {
        return session.warn("which index? the table is in the order of the identifier")
      }
      change = .rebuild(name)
    }
    if case .add(_, let path, let kind) = change, kind.meansOneRecord {
      session.start(
        RepeatsRequest.slot, RepeatsRequest(path: path, datastore: datastore, commit: session.head),
        label: "look for repeating values of \(path.shortText)"
      ) { $0.build(change, of: datastore, after: $1) }
    } else {
      build(change, of: datastore)
    }
  }
}

extension StagedStep {
  /// The step that deletes records.
  ///
  /// - Parameters:
  ///   - chosen: The records that were chosen one by one, of which the new ones are not stored.
  ///   - staged: If a new record is staged at the place of one of them, that one is left out of it, and nothing is deleted there.
  static func deleting(
    _ records: [Record], of chosen: [StoredKey], in key: String, over staged: StagedChanges
  ) -> StagedStep {
    var edits = records.map { record in
      let mine = staged[key, record.identifier]
      let old = mine?.kind == .insert ? mine?.new : record.stored
      return RecordEdit(datastore: key, identifier: record.identifier, old: old, new: nil)
    }
    let stored = Set(records.map(\.identifier))
    for identifier in chosen where !stored.contains(identifier) {
      guard let new = staged[key, identifier], new.kind == .insert else { continue }
      edits.append(RecordEdit(datastore: key, identifier: new.identifier, old: new.new, new: nil))
    }
    guard edits.count == 1 else {
      return StagedStep(title: "delete \(NumberFormat.count(edits.count)) records", edits: edits)
    }
    if edits[0].old != records.first?.stored { return .leavingOut(edits[0].place, of: staged) }
    return StagedStep(title: "delete \(edits[0].identifier)", edits: edits)
  }
}

/// The records or the value that the user copied, for p.
struct Copied: Sendable {
  var records: [Record] = []
  /// The datastore of the records.
  var datastore = ""
  var value: Document?
}
