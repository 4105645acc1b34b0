import StrataDocuments
import StrataModel
import StrataTerminal

struct ExternalEdit: Sendable {
  enum Subject: Sendable, Hashable {
    /// With the stored content of its record.
    case field(RecordPlace, RecordContent?, DocumentPath, isText: Bool)
    /// The edit that goes on, whose new content is opened. That of a new record has no identifier yet.
    case record(RecordEdit)
    case records([RecordEdit])
    case view(datastore: String)
  }

  var subject: Subject
  /// The comment lines at the head of the file.
  var header: [String]
  /// The text that was left in the editor when it could not be read, so that no typed text is lost.
  var text: String
  /// The end of the message if the text is left as it was: a template of a new record or a text with a mistake, which is not taken then.
  var ifUnchanged: String?
}

/// Editing: every edit ends in a staged step.
extension Browser {
  /// - Parameter how: how to leave after the commit; nil to stay.
  mutating func openReview(then how: Leaving? = nil) {
    present(ReviewOverlay(subject: .staged(session.staged.changes), leaving: how))
  }

  // MARK: Staging

  mutating func stage(_ step: StagedStep) {
    guard !step.edits.isEmpty else { return }
    defer {
      if step.edits.count == 1, step.edits[0].old == nil, step.edits[0].new != nil { goToInserted(step.edits[0].place) }
    }
    if session.staged.isEmpty { session.staged.base = session.shown }
    session.staged.add(step)
    session.keepStaged()
    let isLeftOut = step.edits.allSatisfy { $0.old?.bytes == $0.new?.bytes }
    session.say(isLeftOut ? step.title : "staged: \(step.title)")
  }

  /// Takes what is staged of the record in pane 3 out, if that has the keys.
  mutating func leaveOut() {
    guard focus == .record, let place = record.place, session.staged.edits[place] != nil else {
      return session.warn("no staged change is selected")
    }
    stage(.leavingOut(place, of: session.staged))
  }

  /// Takes over changes that were staged on the reading thread.
  mutating func replaceStagedChanges(with staged: StagedChanges) {
    session.staged = staged
    session.keepStaged()
    table.clearMarks()
    staged.steps.last.map { session.say($0.title) }
  }

  /// Selects a record that was just staged as new; it comes after the stored ones.
  private mutating func goToInserted(_ place: RecordPlace) {
    guard place.datastore == table.source?.datastore,
      let row = table.insertions(session).firstIndex(where: { $0.identifier == place.identifier })
    else { return }
    table.list.selection = table.storedCount + row
  }

  mutating func undo(isRedo: Bool = false) {
    if let step = isRedo ? session.staged.redo() : session.staged.undo() {
      session.keepStaged()
      session.say("\(isRedo ? "again" : "took back"): \(step.title)")
    } else {
      let candidate = Inquiry { context throws(ModelError) in
        isRedo ? try context.editable().redoCandidate() : try context.editable().undoCandidate()
      }
      session.start(.review, candidate) { $0.reviewUndo($1, isRedo: isRedo) }
    }
  }

  private mutating func reviewUndo(_ commit: CommitNumber?, isRedo: Bool) {
    // The first commit of an opened file reads its rows and edits nothing.
    guard let commit, commit.rawValue > (session.configuration.documentFile == nil ? 0 : 1) else {
      return session.warn(isRedo ? "there is no undo to take back" : "there is no commit to take back")
    }
    present(ReviewOverlay(subject: .undo(commit, isRedo: isRedo)))
  }

  // MARK: Fields

  /// The record of pane 3 with its document. Returns nil until the record is read, and the command waits; and if the record cannot be read,
  /// with the reason on the screen.
  mutating func readRecord(for command: Command) -> (place: RecordPlace, document: Document)? {
    guard let place = record.place else { return nil }
    guard record.isCurrent(session) else {
      record.waiting = command
      return nil
    }
    guard let document = record.document else {
      // Text typed for a record that cannot be read must not run as commands.
      typeAhead = []
      session.complain(record.answer?.problem ?? record.absence(session))
      return nil
    }
    return (place, document)
  }

  /// The record of pane 3 with the field under the cursor, once its record is read.
  private mutating func editableRecord(_ command: Command) -> (
    place: RecordPlace, document: Document, path: DocumentPath
  )? {
    let field = focus == .table ? table.selectedField(session) : nil
    if let field { record.select(field) }
    guard let (place, document) = readRecord(for: command) else { return nil }
    if let field { return (place, document, field) }
    guard let line = record.selectedLine else {
      session.warn("choose a field in the tree (t)")
      return nil
    }
    return (place, document, line.path)
  }

  mutating func edit() {
    // Text typed for a field that cannot be edited must not run as commands.
    defer { if overlays.isEmpty, record.waiting == nil { typeAhead = [] } }
    // A field of many records is set in all of them, after a preview.
    if focus == .table, !table.marks.isEmpty { return ask(for: .set) }
    guard let (place, document, path) = editableRecord(.edit) else { return }
    if session.staged.edits[place]?.kind == .delete {
      return session.warn("the record is staged for deletion; x takes that out")
    }
    if refusesIdentifier(path, of: place) { return }
    let value = document[path]
    if case .some(let value) = value, value.compactText(limit: Self.editedInPlace).count >= Self.editedInPlace {
      return session.warn("it is too long to edit here; E opens it in $EDITOR")
    }
    let isLong = value?.isLeaf == false && (value?.compactText(limit: Self.line).count ?? 0) >= Self.line
    var editor = ValueEditor(
      place: place, stored: record.stored, path: path, old: value, in: columnKind(path, of: place),
      text: isLong ? value?.prettyText : nil)
    editor.seen = seenValues(path, of: place, limit: 64).map { FieldKind.text(of: $0) }
    let datastore = session.outline?.datastore(place.datastore)
    editor.indexes = datastore?.words(onIndexesOf: path) ?? []
    editor.uniqueIndexes = datastore?.uniqueIndexes(of: path) ?? []
    editor.line = selectedScreenLine
    present(editor)
  }

  /// The length of JSON from which on a value is edited in the user's editor.
  private static let editedInPlace = 4_000
  /// The length of JSON from which on a list or an object is edited on several lines.
  private static let line = 60

  /// The line of the screen with the selected row or field.
  private var selectedScreenLine: Rect? {
    guard focus == .table || focus == .record else { return nil }
    let frame = frame(of: focus, in: layout)
    guard frame != .hidden else { return nil }
    let list = focus == .table ? table.list : record.list
    let row = list.selection - list.top + (focus == .table ? 1 : 0)
    return Rect(column: frame.inside.left, row: frame.inside.top + row, columns: frame.columns, rows: 1)
  }

  /// The kind of a field in other records, so that the editor has its type.
  func columnKind(_ path: DocumentPath, of place: RecordPlace) -> FieldKind? {
    guard place.datastore == table.source?.datastore,
      let column = table.columns.seen.first(where: { $0.path == path.description })
    else { return nil }
    let others = table.rows.values.filter { $0.entry.identifier != place.identifier }
    let cells = others.compactMap { $0.cells[path.description] }.filter { $0.kind != .null }
    let kinds = Set(cells.map(\.kind))
    switch kinds.count == 1 ? kinds.first ?? column.kind : column.kind {
    case .string: return .string
    case .number:
      let indexes = session.outline?.datastore(place.datastore)?.indexes.map(\.descriptor) ?? []
      if indexes.contains(where: { $0.documentPath == path && $0.encoding.hasFractions }) { return .number }
      return cells.isEmpty || cells.contains { NumberText($0.text)?.isInteger == false } ? .number : .integer
    case .bool: return .bool
    case .date: return .date
    default: return nil
    }
  }

  /// Says that a field cannot be changed, if it is the identifier. Returns whether it is.
  mutating func refusesIdentifier(_ path: DocumentPath, of place: RecordPlace) -> Bool {
    guard path == identifierPath(of: place) else { return false }
    session.warn(
      session.staged.edits[place]?.kind == .insert
        ? "the identifier of a staged record stays; D makes a copy under another one, x takes this one out"
        : "the identifier stays; D makes a copy under another one")
    return true
  }

  func identifierPath(of place: RecordPlace) -> DocumentPath? {
    let declared = session.outline?.datastore(place.datastore)?.descriptor.identifierPath
    let seen = place.datastore == table.source?.datastore ? table.columns.identifierPath : nil
    return (declared ?? seen).flatMap { try? DocumentPath(parsing: $0) }
  }

  mutating func stageField(_ editor: ValueEditor, _ value: Document) {
    if editor.decides { return with(MergePane.self) { $0.settle(value, from: editor, in: &$1) } }
    let isDone = stageField(editor.place, over: editor.stored, editor.path, value, isNew: editor.isNew)
    if !isDone { session.drafts[editor.fieldPlace] = editor.field.text }
  }

  @discardableResult
  mutating func stageField(
    _ place: RecordPlace, over stored: RecordContent?, _ path: DocumentPath, _ value: Document, isNew: Bool = false
  ) -> Bool {
    stageDocument(place, over: stored, title: "\(path.shortText) of \(place.identifier)") {
      document throws(DocumentError) in
      isNew ? try document.inserting(value, at: path) : try document.setting(path, to: value)
    }
  }

  /// Removes one field from a staged change: the field has its stored value again, and the rest stays staged.
  mutating func leaveFieldOut(_ place: RecordPlace, _ path: DocumentPath) {
    guard let edit = session.staged.edits[place], let old = edit.old,
      let descriptor = session.outline?.datastore(place.datastore)?.descriptor
    else { return }
    do {
      let stored = try descriptor.document(of: old)
      let changed = try edit.changing(descriptor) { staged throws(DocumentError) in
        guard let value = stored[path] else { return try staged.removing(path) }
        return staged[path] == nil ? try staged.inserting(value, at: path) : try staged.setting(path, to: value)
      }
      guard let changed, changed.after != stored else { return stage(.leavingOut(place, of: session.staged)) }
      stage(StagedStep(title: "left \(path.shortText) of \(place.identifier) out", edits: [changed.edit]))
    } catch { session.warn("\(error)") }
  }

  /// Stages another document for a record: its stored content as read when the change began, with the staged edit over it. Returns whether
  /// that was possible; otherwise shows why not.
  @discardableResult
  mutating func stageDocument(
    _ place: RecordPlace, over stored: RecordContent?, title: String,
    _ change: (Document) throws(DocumentError) -> Document
  ) -> Bool {
    guard let descriptor = session.outline?.datastore(place.datastore)?.descriptor else {
      session.warn("\(title) is not staged: \(place.datastore) is not there any more")
      return false
    }
    let begun = RecordEdit.begun(at: place, over: stored, session.staged.edits[place], descriptor)
    do throws(DocumentError) {
      guard begun.new != nil else {
        session.warn("\(title) is not staged: the record is staged for deletion, x takes that out")
        return false
      }
      guard let changed = try begun.changing(descriptor, change) else {
        session.say("nothing changed")
        return true
      }
      stage(StagedStep(title: title, edits: [changed.edit]))
      return true
    } catch {
      session.warn("\(title) is not staged: \(error)")
      return false
    }
  }

  mutating func openValueMenu() {
    guard let (place, document, path) = editableRecord(.valueMenu), !refusesIdentifier(path, of: place) else { return }
    var items: [FinderOverlay.Item] = []
    let stored = record.stored
    let stage = { @Sendable (value: Document) in Intent { $0.stageField(place, over: stored, path, value) } }
    func offer(_ value: Document, _ detail: String = "") {
      let title = value.compactJSON
      guard items.allSatisfy({ $0.words.name != title }) else { return }
      items.append(.init(kind: detail, words: .init(name: title), choice: stage(value)))
    }
    let old = document[path]
    if let old, old.isLeaf, old != .null { offer(old, "as it is") }
    let target = session.current.flatMap { session.naming.fields(of: $0.descriptor).target(of: path) }
    // The records that a reference may lead to are listed with their labels.
    if target == nil { seenValues(path, of: place, limit: Self.listed).forEach { offer($0, "seen") } }
    switch old {
    case .bool?: [Document.bool(true), .bool(false)].forEach { offer($0) }
    case .number?: offer(0)
    case .array?: offer([], "empty list")
    case .object?: offer(.object([]), "empty object")
    default: offer("", "empty text")
    }
    offer(.null)
    present(
      FinderOverlay(items, title: "\(path.shortText) of \(session.name(of: place))", in: target) {
        stage($0.identifier.value.document)
      })
  }

  /// The most values that are offered in the list.
  private static let listed = 64

  /// The distinct values of a field in the rows read so far, without null.
  private func seenValues(_ path: DocumentPath, of place: RecordPlace, limit: Int) -> [Document] {
    guard place.datastore == table.source?.datastore else { return [] }
    var (values, texts): ([Document], Set<String>) = ([], [])
    for row in table.rows.values.sorted(by: { $0.rank < $1.rank }) where values.count < limit {
      guard let cell = row.cells[path.description], !cell.isCut, texts.insert(cell.text).inserted,
        let literal = cell.filterLiteral, let value = try? JSONParser.parse(literal), value != .null
      else { continue }
      values.append(value)
    }
    return values
  }

  /// Moves an element of a list. The order of an object's members has no meaning.
  mutating func moveElement(by step: Int) {
    guard let (place, document, path) = editableRecord(step < 0 ? .moveUp : .moveDown) else { return }
    guard case .index(let index)? = path.components.last, let parent = path.parent,
      case .array(let elements)? = document[parent]
    else {
      return session.warn("choose an element of a list")
    }
    guard elements.indices.contains(index + step) else {
      return session.warn("it is the \(step < 0 ? "first" : "last") already")
    }
    stageDocument(place, over: record.stored, title: "moved \(path.shortText) of \(place.identifier)") {
      document throws(DocumentError) in
      try document.moving(path, to: index + step)
    }
    record.select(parent.appending(index + step))
  }

  mutating func deleteField() {
    guard let (place, _) = readRecord(for: .deleteRecord), let line = record.selectedLine else { return }
    if line.path == identifierPath(of: place) {
      return session.warn("the identifier stays; dd in the table deletes the record")
    }
    stageDocument(place, over: record.stored, title: "removed \(line.path.shortText) of \(place.identifier)") {
      document throws(DocumentError) in
      try document.removing(line.path)
    }
  }
}
