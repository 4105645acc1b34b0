import StrataDocuments
import StrataModel
import StrataTerminal

/// Values and records in the user's own editor, and what comes back.
extension Browser {
  mutating func editExternally() {
    guard let (place, document) = readRecord(for: .editExternally) else { return }
    if focus == .record, let line = record.selectedLine, let value = document[line.path] {
      if refusesIdentifier(line.path, of: place) { return }
      editFieldExternally(place, line.path, value)
    } else {
      editRecordExternally(hint: nil)
    }
  }

  private mutating func editFieldExternally(_ place: RecordPlace, _ path: DocumentPath, _ value: Document) {
    if case .string(let text) = value {
      openEditor(.field(place, record.stored, path, isText: true), text: text, header: [])
    } else {
      openEditor(
        .field(place, record.stored, path, isText: false), text: value.prettyText,
        header: ["\(place.datastore) \(place.identifier) \(path.shortText); an empty file cancels"])
    }
  }

  mutating func editRecordExternally(hint: String?) {
    guard let (place, _) = readRecord(for: .editExternally) else { return }
    openRecord(
      place, over: record.stored,
      header: ["\(place.datastore) \(place.identifier)\(hint.map { ": \($0)" } ?? ""); an empty file cancels"])
  }

  /// Opens a record as it will be: its stored content with the staged edit over it.
  mutating func openRecord(_ place: RecordPlace, over stored: RecordContent?, header: [String]) {
    guard let descriptor = session.outline?.datastore(place.datastore)?.descriptor else { return }
    let begun = RecordEdit.begun(at: place, over: stored, session.staged.edits[place], descriptor)
    guard let content = begun.new else {
      return session.warn("the record is staged for deletion; x takes that out")
    }
    do throws(ModelError) {
      openEditor(.record(begun), text: try onDocument(descriptor.document(of: content)).prettyText, header: header)
    } catch {
      session.complain("\(error); \(session.theme.enterKey) shows its bytes")
    }
  }

  mutating func openEditor(
    _ subject: ExternalEdit.Subject, text: String, header: [String], line: Int? = nil, column: Int = 1,
    ifUnchanged: String? = nil
  ) {
    if let refused, refused.subject == subject {
      self.refused = nil
      return openEditor(subject, text: refused.text, header: refused.header, ifUnchanged: refused.ifUnchanged)
    }
    editing = ExternalEdit(subject: subject, header: header, text: text, ifUnchanged: ifUnchanged)
    // Keys that were pressed before the editor is on the screen are meant neither for it nor for what is shown after it.
    typeAhead.removeAll { !$0.isReplayed }
    let comments = header.map { "// \($0)\n" }.joined()
    var fileExtension = "json"
    if case .field(_, _, _, isText: true) = subject { fileExtension = "txt" }
    if case .records = subject { fileExtension = "jsonl" }
    if case .view = subject { fileExtension = "txt" }
    session.emit(
      .edit(
        EditorRequest(
          text: comments + text + (text.hasSuffix("\n") ? "" : "\n"), fileExtension: fileExtension,
          line: line ?? header.count + 1, column: column)))
  }

  mutating func editorClosed(_ outcome: EditorOutcome) {
    session.emit(.repaint)
    guard let editing else { return }
    self.editing = nil
    external = ExternalEdit(
      subject: editing.subject, header: editing.header, text: Self.withoutComments(outcome.text ?? ""))
    guard let text = outcome.text else {
      return session.complain(outcome.problem ?? "the editor failed; nothing was changed")
    }
    if let sentence = editing.ifUnchanged, Self.withoutComments(text).trimmed == editing.text.trimmed {
      if editing.header.first == sentence { refused = editing }
      return session.warn("left as it was: \(sentence)")
    }
    switch editing.subject {
    case .field(let place, let stored, let path, isText: true):
      var value = text
      if value.hasSuffix("\n") || value.hasSuffix("\r\n"), !editing.text.hasSuffix("\n") { value.removeLast() }
      stageField(place, over: stored, path, .string(value))
    case .field(let place, let stored, let path, isText: false):
      parse(text, editing) { browser, document in browser.stageField(place, over: stored, path, document) }
    case .record(let edit):
      parse(text, editing) { browser, document in browser.resolveIdentifiers([document], of: [edit]) }
    case .records(let edits): parseLines(text, editing, edits)
    case .view: queryEdited(text, editing)
    }
  }

  /// Reads the document of a file; where it does not parse, the editor opens again at the place with the error on top.
  private mutating func parse(
    _ text: String, _ editing: ExternalEdit, then done: (inout Browser, Document) -> Void
  ) {
    let body = Self.withoutComments(text)
    guard !body.trimmed.isEmpty else { return session.say("an empty file: nothing was changed") }
    do {
      done(&self, try JSONParser.parse(body))
    } catch {
      reopen(editing, body, line: error.line, column: error.column, reason: error.reason)
    }
  }

  private mutating func parseLines(_ text: String, _ editing: ExternalEdit, _ edits: [RecordEdit]) {
    let body = Self.withoutComments(text)
    var documents: [Document] = []
    for (number, line) in body.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    where !String(line).trimmed.isEmpty {
      do { documents.append(try JSONParser.parse(String(line))) } catch {
        reopen(editing, body, line: number + 1, column: error.column, reason: error.reason)
        return
      }
    }
    guard !documents.isEmpty else { return session.say("an empty file: nothing was changed") }
    resolveIdentifiers(documents, of: edits)
  }

  mutating func reopen(_ editing: ExternalEdit, _ text: String, line: Int, column: Int, reason: String) {
    // Lines are counted as the editor does, with those of the header.
    let header = editing.header.filter { !$0.hasPrefix("line ") }
    let line = line + header.count + 1
    let sentence = "line \(line), column \(column): \(reason)"
    openEditor(
      editing.subject, text: text, header: [sentence] + header, line: line, column: column, ifUnchanged: sentence)
    session.warn(sentence)
  }

  /// Opens the editor again on what was typed, with what is wrong with it on top.
  mutating func reopenExternal(_ reason: String) {
    guard let external else { return }
    self.external = nil
    openEditor(
      external.subject, text: external.text, header: [reason] + external.header.suffix(1), ifUnchanged: reason)
    session.warn(reason)
  }

  /// The text without a byte order mark and the comment lines at its head, with the line ends of this system.
  static func withoutComments(_ text: String) -> String {
    let lines = TextLines.split(String(text.drop { $0 == "\u{FEFF}" })).map { line in
      line.hasSuffix("\r") ? line.dropLast() : line[...]
    }
    return lines.drop { $0.hasPrefix("//") }.joined(separator: "\n")
  }

  /// Documents from an editor become edits: by the identifier in them, which must not be another record's.
  private mutating func resolveIdentifiers(_ documents: [Document], of opened: [RecordEdit]) {
    guard let datastore = opened.first?.datastore else { return }
    session.start(
      .editedDocuments,
      EditedDocumentsRequest(
        datastore: datastore, commit: session.head, documents: documents, opened: opened,
        inserted: Set((session.insertions[datastore] ?? []).map(\.identifier)),
        identifierPath: session.outline?.datastore(datastore)?.descriptor.identifierPath
          ?? table.columns.identifierPath),
      label: "reading"
    ) { $0.stage(edited: $1, lacking: opened.count - documents.count) }
  }

  /// - Parameter count: How many records were opened and have no document any more.
  private mutating func stage(edited edits: [RecordEdit], lacking count: Int) {
    external = nil
    let rest = count > 0 ? "; records without a line stay as they were (dd deletes)" : ""
    guard let first = edits.first else { return session.say("nothing changed\(rest)") }
    let title = "\(first.old == nil ? "new" : "edited") \(first.identifier)"
    stage(StagedStep(title: (edits.count == 1 ? title : "\(edits.count) records") + rest, edits: edits))
  }
}
