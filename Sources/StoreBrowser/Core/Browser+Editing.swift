import DatastoreModel
import TerminalKit

/// What a text editor outside was opened on.
struct ExternalEdit: Sendable {
  enum Subject: Sendable {
    case field(RecordPlace, DocumentPath, isText: Bool)
    case record(Record, datastore: String)
    case records([Record], datastore: String)
  }

  var subject: Subject
  /// The comment lines at the head of the file.
  var header: [String]
  /// What was left in the editor when it could not be read, so that nothing typed is lost.
  var text: String
}

/// Editing: everything ends in a staged step.
extension Browser {
  mutating func performWriting(_ command: Command, argument: String?) {
    switch command {
    case .edit: edit()
    case .valueMenu: openValueMenu()
    case .editExternally: editExternally()
    case .insert: insert()
    case .paste: paste()
    case .deleteRecord: deleteField()
    case .restoreRecord, .restoreField: restoreHere(command)
    case .leaveOut: if let place = record.place { stage(.leavingOut(place, of: session.staged)) }
    case .undo: undo()
    case .redo: redo()
    case .review: overlays.append(.review(ReviewOverlay(subject: .staged(session.staged.changes))))
    case .set: bulk(.set(argument ?? ""))
    case .deleteShown: bulk(.delete)
    case .copyValue, .copyPath, .copyRecord: copyFromRecord(command)
    case .restoreStore: restoreStore(argument ?? "")
    case .addIndex, .rebuildIndex, .dropIndex: changeIndex(command, argument)
    default: session.warn("\(CommandTable.entry(command).name) does nothing here")
    }
  }

  // MARK: Staging

  mutating func stage(_ step: StagedStep) {
    guard !step.edits.isEmpty else { return }
    defer {
      if step.edits.count == 1, step.edits[0].old == nil, step.edits[0].new != nil { goToInserted(step.edits[0].place) }
    }
    if session.staged.isEmpty { session.staged.base = session.head }
    session.staged.add(step)
    saveStaged()
    session.say(step.title)
  }

  /// Puts the selection on a record that was just staged as new; it stands after the stored ones.
  private mutating func goToInserted(_ place: RecordPlace) {
    guard place.datastore == table.source?.datastore,
      let row = table.insertions(session).firstIndex(where: { $0.identifier == place.identifier })
    else { return }
    table.list.selection = table.storedCount + row
  }

  private mutating func saveStaged() { session.start(.staging, .saveStaged(session.staged)) }

  private mutating func undo() {
    if let step = session.staged.undo() {
      saveStaged()
      session.say("took back: \(step.title)")
    } else {
      session.start(.review, .undoCandidate(isRedo: false))
    }
  }

  private mutating func redo() {
    if let step = session.staged.redo() {
      saveStaged()
      session.say("again: \(step.title)")
    } else {
      session.start(.review, .undoCandidate(isRedo: true))
    }
  }

  mutating func reviewUndo(_ commit: CommitNumber?, isRedo: Bool) {
    guard let commit else {
      session.warn(isRedo ? "there is no undo to take back" : "there is no commit to take back")
      return
    }
    overlays.append(.review(ReviewOverlay(subject: .undo(commit, isRedo: isRedo))))
  }

  // MARK: Fields

  /// The record pane with the field under the cursor, once its record is read; nil until then, the command waiting.
  private mutating func editableRecord(_ command: Command) -> (
    place: RecordPlace, document: Document, path: DocumentPath
  )? {
    if focus == .table, let text = table.selectedPath(session), let path = try? DocumentPath(parsing: text) {
      record.select(path)
    }
    guard let place = record.place else { return nil }
    guard record.isCurrent(session), let document = record.document else {
      if let problem = record.answer?.problem {
        session.complain(problem)
      } else {
        record.wait(for: command, argument: nil)
      }
      return nil
    }
    if focus == .table, let text = table.selectedPath(session), let path = try? DocumentPath(parsing: text) {
      return (place, document, path)
    }
    guard let line = record.selectedLine else {
      session.warn("choose a field in the tree (t)")
      return nil
    }
    return (place, document, line.path)
  }

  private mutating func edit() {
    guard let (place, document, path) = editableRecord(.edit) else { return }
    if session.staged.edits[place]?.kind == .delete {
      session.warn("the record is staged for deletion; x takes that out")
      return
    }
    if path == identifierPath(of: place), session.staged.edits[place]?.kind != .insert {
      session.warn("the identifier stays; D makes a copy under another one")
      return
    }
    let value = document[path]
    if case .some(let value) = value, !value.isLeaf, value.compactText(limit: 300).count > 200 {
      session.warn("E opens it in $EDITOR")
      return
    }
    var editor = ValueEditor(place: place, path: path, old: value)
    if value == nil || value == .null, let kind = columnKind(path, of: place) {
      editor = ValueEditor(place: place, path: path, old: kind, text: "")
    }
    overlays.append(.editor(editor))
  }

  /// An empty value of the kind that the column has in other records, so that the editor has its type.
  private func columnKind(_ path: DocumentPath, of place: RecordPlace) -> Document? {
    guard place.datastore == table.source?.datastore,
      let column = table.columns.seen.first(where: { $0.path == path.description })
    else { return nil }
    switch column.kind {
    case .string: return ""
    case .number:
      let texts = table.rows.values.compactMap { $0.cells[path.description] }.filter { $0.kind == .number }.map(\.text)
      return texts.allSatisfy { Int64($0) != nil } ? 0 : 0.5
    case .bool: return false
    case .date: return .date(0)
    default: return nil
    }
  }

  func identifierPath(of place: RecordPlace) -> DocumentPath? {
    let declared = session.outline?.datastore(place.datastore)?.descriptor.identifierPath
    let seen = place.datastore == table.source?.datastore ? table.columns.identifierPath : nil
    return (declared ?? seen).flatMap { try? DocumentPath(parsing: $0) }
  }

  mutating func stageField(_ editor: ValueEditor, _ value: Document) {
    if editor.isNew {
      stageDocument(editor.place, title: "\(editor.path.shortText) of \(editor.place.identifier)") {
        document throws(ModelError) in try document.inserting(value, at: editor.path)
      }
    } else {
      stageField(editor.place, editor.path, value)
    }
  }

  mutating func stageField(_ place: RecordPlace, _ path: DocumentPath, _ value: Document) {
    stageDocument(place, title: "\(path.shortText) of \(place.identifier)") { document throws(ModelError) in
      try document.setting(path, to: value)
    }
  }

  /// Stages another document for the record that the record pane shows.
  private mutating func stageDocument(
    _ place: RecordPlace, title: String, _ change: (Document) throws(ModelError) -> Document
  ) {
    guard record.place == place, let document = record.document, let coding = record.coding(session) else { return }
    do throws(ModelError) {
      let changed = try change(document)
      guard changed != document else {
        session.say("nothing changed")
        return
      }
      let staged = session.staged.edits[place]
      let before = staged?.new ?? record.answer?.record?.stored
      let bytes: [UInt8]
      if let before {
        bytes = try coding.encode(changed, keeping: before.bytes)
      } else {
        bytes = try coding.encode(changed)
      }
      let version = before?.version ?? session.outline?.datastore(place.datastore)?.descriptor.version ?? "1"
      stage(
        StagedStep(
          title: title,
          edits: [
            RecordEdit(
              datastore: place.datastore, identifier: place.identifier, old: record.answer?.record?.stored,
              new: RecordContent(version: version, bytes: bytes))
          ]))
    } catch { session.complain(error.description) }
  }

  private mutating func openValueMenu() {
    guard let (place, document, path) = editableRecord(.valueMenu) else { return }
    var items = [
      MenuOverlay.Item(title: "null", detail: "", choice: .setField(place, path, .null))
    ]
    switch document[path] {
    case .bool?:
      items.append(.init(title: "true", detail: "", choice: .setField(place, path, true)))
      items.append(.init(title: "false", detail: "", choice: .setField(place, path, false)))
    case .number?: items.append(.init(title: "0", detail: "", choice: .setField(place, path, 0)))
    case .array?: items.append(.init(title: "[]", detail: "empty list", choice: .setField(place, path, [])))
    case .object?: items.append(.init(title: "{}", detail: "empty object", choice: .setField(place, path, .object([]))))
    default: items.append(.init(title: "\"\"", detail: "empty text", choice: .setField(place, path, "")))
    }
    var seen: Set<String> = []
    for row in table.rows.values.sorted(by: { $0.rank < $1.rank }) where items.count < 16 {
      guard let value = row.cells[path.description], !value.isCut, seen.insert(value.text).inserted,
        let literal = value.filterLiteral, let parsed = try? JSONParser.parse(literal), parsed != .null
      else { continue }
      items.append(.init(title: literal, detail: "seen", choice: .setField(place, path, parsed)))
    }
    overlays.append(.menu(MenuOverlay(title: "\(path.shortText) of \(place.identifier)", items: items)))
  }

  private mutating func deleteField() {
    guard let place = record.place, let line = record.selectedLine else { return }
    if line.path == identifierPath(of: place) {
      session.warn("the identifier stays; dd in the table deletes the record")
      return
    }
    stageDocument(place, title: "removed \(line.path.shortText) of \(place.identifier)") {
      document throws(ModelError) in
      try document.removing(line.path)
    }
  }

  // MARK: Records

  private mutating func insert() {
    if focus == .record, let place = record.place, let line = record.selectedLine {
      insertPart(place, line)
    } else {
      insertRecord()
    }
  }

  /// A new element before the selected one, or a new member by name.
  private mutating func insertPart(_ place: RecordPlace, _ line: TreeLine) {
    if case .array(let elements)? = record.document?[line.path] {
      let path = line.path.appending(elements.count)
      overlays.append(.editor(ValueEditor(place: place, path: path, old: elements.last, isNew: true, text: "")))
    } else if case .index? = line.path.components.last {
      overlays.append(
        .editor(ValueEditor(place: place, path: line.path, old: record.document?[line.path], isNew: true, text: "")))
    } else {
      editRecordExternally(hint: "add the field here")
    }
  }

  /// A new record begins as the fields of the selected one with empty values, in the user's editor.
  private mutating func insertRecord() {
    guard let datastore = session.current else { return }
    let template = record.document.map { Self.template(of: $0) } ?? .object([])
    let record = Record(
      identifier: StoredKey(bytes: [], value: .null), version: datastore.descriptor.version,
      content: template.json(.pretty), coding: .json)
    openEditor(
      .record(record, datastore: datastore.key), text: template.prettyText,
      header: ["a new record of \(datastore.key); an empty file cancels"])
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

  private mutating func paste() {
    if focus == .record, let value = copied.value, let place = record.place, let line = record.selectedLine {
      stageField(place, line.path, value)
      return
    }
    guard !copied.records.isEmpty, let datastore = session.current else {
      session.warn("no record was copied (yr)")
      return
    }
    stageCopies(copied.records, in: datastore)
  }

  private mutating func copyFromRecord(_ command: Command) {
    guard let document = record.document else { return }
    switch command {
    case .copyValue:
      let path = table.selectedPath(session).flatMap { try? DocumentPath(parsing: $0) }
      let value = path.flatMap { document[$0] } ?? document
      copied.value = value
      if case .string(let text) = value {
        session.copy(text, what: "value")
      } else {
        session.copy(value.compactJSON, what: "value")
      }
    default: session.copy(document.compactJSON, what: "record")
    }
  }

  /// Copies go under the next free identifier where that is a number; otherwise the editor asks for one.
  private mutating func stageCopies(_ records: [Record], in datastore: Outline.Datastore) {
    guard let document = try? records.first?.document() else { return }
    var text = document.prettyText
    if records.count > 1 { text = records.compactMap { try? $0.document().compactJSON }.joined(separator: "\n") }
    let path = table.columns.identifierPath ?? datastore.descriptor.identifierPath
    let fresh = records.map { record in
      Record(
        identifier: StoredKey(bytes: [], value: .null), version: record.version, content: record.content,
        coding: record.coding)
    }
    let name = path.map { String($0.drop { $0 == "." }) } ?? "identifier"
    let subject: ExternalEdit.Subject =
      fresh.count == 1 ? .record(fresh[0], datastore: datastore.key) : .records(fresh, datastore: datastore.key)
    openEditor(
      subject, text: text,
      header: ["a copy in \(datastore.key): give it another \(name); an empty file cancels"])
  }

  // MARK: Gathered records

  mutating func take(_ answer: GatherAnswer) {
    let key = answer.request.source.datastore
    switch answer.request.purpose {
    case .mark:
      for record in answer.records where !table.isMarked(record.identifier) { table.toggleMark(record.identifier) }
    case .copy:
      copied.records = answer.records
      let text = answer.records.compactMap { try? $0.document().compactJSON }.joined(separator: "\n")
      session.copy(text, what: answer.records.count == 1 ? "record" : "\(answer.records.count) records")
    case .compare: compare(answer.records)
    case .delete: stageDelete(answer.records, in: key)
    case .duplicate: if let datastore = session.outline?.datastore(key) { stageCopies(answer.records, in: datastore) }
    case .editExternally:
      openEditor(
        .records(answer.records, datastore: key),
        text: answer.records.compactMap { try? $0.document().compactJSON }.joined(separator: "\n"),
        header: ["\(answer.records.count) records of \(key), one a line; an empty file cancels"])
    case .restore(let commit): stageRestore(answer, from: commit, path: nil)
    case .restoreField(let path, let commit): stageRestore(answer, from: commit, path: path)
    case .like: break
    }
  }

  private mutating func compare(_ records: [Record]) {
    guard records.count == 2, let left = try? records[0].document(), let right = try? records[1].document() else {
      return
    }
    let lines = Document.difference(left, right).map { change in
      let (old, new) = (change.old.map { ValueText(literal: $0).text }, change.new.map { ValueText(literal: $0).text })
      return "\(change.path.shortText)   - \(old ?? "(none)")   + \(new ?? "(none)")"
    }
    overlays.append(
      .text(
        TextOverlay(
          title: "\(records[0].identifier) → \(records[1].identifier)",
          lines: lines.isEmpty ? ["no field differs"] : lines)))
  }

  private mutating func stageDelete(_ records: [Record], in key: String) {
    let edits = records.map { RecordEdit(datastore: key, identifier: $0.identifier, old: $0.stored, new: nil) }
    stage(
      StagedStep(
        title: records.count == 1 ? "delete \(records[0].identifier)" : "delete \(records.count) records", edits: edits)
    )
    table.clearMarks()
    if edits.isEmpty, let place = table.selectedPlace(session), session.staged.edits[place]?.kind == .insert {
      stage(.leavingOut(place, of: session.staged))
    }
  }

  private mutating func stageRestore(_ answer: GatherAnswer, from commit: CommitNumber, path: DocumentPath?) {
    let key = answer.request.source.datastore
    var wanted: [StoredKey] = []
    if case .identifiers(let identifiers) = answer.request.which {
      wanted = identifiers
    } else {
      wanted = answer.records.map(\.identifier)
    }
    let old = Dictionary(answer.records.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
    var edits: [RecordEdit] = []
    for identifier in wanted {
      let present = answer.present[identifier]
      var content = old[identifier]?.stored
      if let path, let present {
        guard let value = try? old[identifier]?.document()[path],
          let changed = try? present.document().setting(path, to: value),
          let bytes = try? present.coding.encode(changed, keeping: present.content)
        else { continue }
        content = RecordContent(version: present.version, bytes: bytes)
      }
      guard content != present?.stored else { continue }
      edits.append(RecordEdit(datastore: key, identifier: identifier, old: present?.stored, new: content))
    }
    guard !edits.isEmpty else {
      session.say("it is as it was at \(commit) already")
      return
    }
    let what = path.map { "\($0.shortText) of " } ?? ""
    stage(
      StagedStep(
        title:
          "restored \(what)\(edits.count == 1 ? "\(edits[0].identifier)" : "\(edits.count) records") from \(commit)",
        edits: edits))
  }

  /// `r` and `c` while travelling: the state that is shown becomes the staged one.
  private mutating func restoreHere(_ command: Command) {
    guard let asOf = session.asOf, let place = record.place else {
      session.warn("choose a commit in the history first (H)")
      return
    }
    var purpose = GatherRequest.Purpose.restore(from: asOf)
    if command == .restoreField {
      guard let path = record.selectedLine?.path else { return }
      purpose = .restoreField(path: path, from: asOf)
    }
    session.start(
      .gather,
      .gather(
        GatherRequest(
          commit: session.head, source: RowSource(datastore: place.datastore),
          which: .identifiers([place.identifier]), purpose: purpose)), label: "reading")
  }

  private mutating func restoreStore(_ argument: String) {
    let words = argument.split(separator: " ").map(String.init)
    guard let last = words.last else { return }
    let isDatastore = words.count > 1 && session.outline?.datastore(last) != nil
    let commit = isDatastore ? words.dropLast().joined(separator: " ") : argument
    session.start(.resolve, .resolve(commit, for: .restore(datastore: isDatastore ? last : nil)))
  }

  private mutating func changeIndex(_ command: Command, _ argument: String?) {
    guard let datastore = session.datastore else { return }
    let change: IndexChange
    switch command {
    case .addIndex:
      guard let added = try? IndexChange(adding: argument ?? "") else { return }
      change = added
    case .dropIndex: change = .drop(argument ?? "")
    default:
      guard let name = argument ?? table.source?.index else {
        session.warn("which index? the table is in the order of the identifier")
        return
      }
      change = .rebuild(name)
    }
    open(.migration)
    migration.start(change, of: datastore, in: &session)
  }

  private mutating func bulk(_ change: BulkRequest.Change) {
    guard let source = table.source, table.opened != nil else { return }
    overlays.append(
      .bulk(
        BulkOverlay(
          request: BulkRequest(source: source, commit: session.shown, which: table.everything(session), change: change))
      ))
  }
}
