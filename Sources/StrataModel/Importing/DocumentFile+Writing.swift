import StrataDocuments

extension DocumentFile {
  /// The result of rewriting a file of documents.
  package enum Rewriting: Sendable {
    /// `keepsRows`: whether no row was deleted, so that each has its number still.
    case bytes([UInt8], keepsRows: Bool)
    /// Another program has changed the file since it was read.
    case changed(FileComparison)
    /// Another program has removed the file, or has put there what cannot be read, for this reason.
    case lost(String)
  }

  /// Returns the bytes of the file with the edits of its store's newest commit. Unedited parts keep their bytes, also rows that could not
  /// be read.
  ///
  /// - Parameter progress: gets the number of rows that are done.
  /// - Throws: `ModelError.refused` if the file's encoding has no bytes for a character that was typed.
  package func rewritten(from store: EngineStore, progress: WorkProgress? = nil) throws(ModelError) -> Rewriting {
    let mine = try edits(in: store)
    let bytes: [UInt8]
    do throws(ModelError) {
      bytes = try FileBytes.read(path)
      guard FileBytes.digest(of: bytes) == digest else {
        return .changed(try FileComparison(self, bytes, mine, store, progress))
      }
    } catch {
      if error == .cancelled { throw error }
      return .lost("\(error)")
    }
    var numbered: [Int: FileRewriter.Edit] = [:]
    var added: [Document] = []
    for (number, edit) in mine {
      if let old = edit.old {
        numbered[number] = .init(old: old, new: edit.new)
      } else if let new = edit.new {
        added.append(new)
      }
    }
    return .bytes(
      try write(over: bytes, numbered, added, progress), keepsRows: numbered.values.allSatisfy { $0.new != nil })
  }

  func write(
    over bytes: [UInt8], _ edits: [Int: FileRewriter.Edit], _ added: [Document], _ progress: WorkProgress?
  ) throws(ModelError) -> [UInt8] {
    if edits.isEmpty, added.isEmpty { return bytes }
    let (text, isMarked) = try text(of: bytes)
    var source = try TableSource(bytes: text, name: path, encoding: .utf8)
    source.names.areKept = true
    var rewriter = try FileRewriter(text, of: source, key: key, edits: edits, added: added)
    return try encoding.bytes(
      of: rewriter.rewritten(from: &source) { row throws(ModelError) in try report(row, to: progress) },
      isMarked: isMarked)
  }

  /// Reports a row to the listener, now and then; throws if the listener cancels.
  func report(_ row: Int, to progress: WorkProgress?) throws(ModelError) {
    guard row % 1_024 == 0, let progress else { return }
    if !progress(row, max(row, report.new + report.rejected)) { throw .cancelled }
  }

  /// Returns the file's text in UTF-8 and whether a byte order mark was removed. If the file is UTF-8, the text includes its mark.
  func text(of bytes: [UInt8]) throws(ModelError) -> (text: [UInt8], isMarked: Bool) {
    encoding == .utf8 ? (bytes, false) : (try encoding.text(of: bytes, of: path), encoding.isMarked(bytes))
  }

  /// Returns the edits, by the numbers of rows in their order, with documents as they are in the file.
  func edits(
    in store: EngineStore
  ) throws(ModelError) -> [(number: Int, edit: (old: Document?, new: Document?))] {
    guard let opened = report.commit, let rowNumber else {
      throw .refused(reason: "\(path) was opened for reading only")
    }
    var edits: [(Int, (Document?, Document?))] = []
    let changes = try store.changes(from: opened, to: store.head.commit)
    while case let part = try changes.next(512), !part.isEmpty {
      for change in part where change.datastore == datastore {
        guard case .integer(let number) = change.identifier.value else { continue }
        func document(_ record: Record?) throws(ModelError) -> Document? {
          guard let document = try record?.document() else { return nil }
          return try onDocument(document.removing(rowNumber))
        }
        edits.append((Int(number), (try document(change.old), try document(change.new))))
      }
    }
    return edits
  }
}

/// A file that another program changed, compared with the edits made here, row by row.
package struct FileComparison: Sendable {
  /// Each row that either side changed, as the file was, as it is now, and as it is here.
  package private(set) var lines: [String] = []
  /// The numbers of rows that the other program changed and that were edited here, and of fields that both changed differently.
  package private(set) var theirs = 0
  package private(set) var mine = 0
  package private(set) var overlaps = 0
  /// The present file with the edits from here; if both changed a field, it has the value from here.
  package private(set) var merged: [UInt8] = []

  init(
    _ file: DocumentFile, _ bytes: [UInt8], _ edits: [(number: Int, edit: (old: Document?, new: Document?))],
    _ store: EngineStore, _ progress: WorkProgress?
  ) throws(ModelError) {
    let (first, second, third) = (
      progress.map { pass(0, of: 3, $0) }, progress.map { pass(1, of: 3, $0) }, progress.map { pass(2, of: 3, $0) }
    )
    let (text, _) = try file.text(of: bytes)
    var source = try TableSource(bytes: text, name: file.path, encoding: .utf8)
    source.names.areKept = true
    for column in file.columns where column.type != .empty {
      source.follow(ColumnRule(type: column.type, origin: "in the file as it was opened"), at: column.path)
    }
    var rows = NumberedRows(source: source, rowName: nil, key: file.key)
    var now: [Document] = []
    while let row = try rows.next(.all) {
      if case .document(let document) = row.content { now.append(document) } else { now.append(.null) }
      try file.report(now.count, to: first)
    }
    let before = try Self.documents(of: file, in: store, second)
    let origins =
      file.identifier.map { Self.origins(of: now, in: before, by: $0) } ?? Document.origins(of: now, in: before)
    let byNumber = Dictionary(edits.map { ($0.number, $0.edit) }, uniquingKeysWith: { $1 })
    var (changed, added): ([Int: FileRewriter.Edit], [Document]) = ([:], [])
    var seen: Set<Int> = []
    for (index, origin) in origins.enumerated() {
      let base = origin.map { before[$0] }
      if let origin { seen.insert(origin) }
      let edit = origin.flatMap { byNumber[$0 + 1] }
      // A row that could not be read, and cannot, is not a change.
      let isTheirs = base ?? .null != now[index]
      if isTheirs { theirs += 1 }
      guard let base, let edit else {
        if isTheirs { tell("row \(index + 1)", base, now[index], base) }
        continue
      }
      tell("row \(index + 1)", base, now[index], edit.new)
      if let new = edit.new {
        let merge = DocumentMerge(base: base, mine: new, theirs: now[index])
        overlaps += merge.overlaps.count
        changed[index + 1] = .init(old: now[index], new: merge.merged)
      } else if base == now[index] {
        changed[index + 1] = .init(old: base, new: nil)
      } else {
        overlaps += 1
      }
    }
    for (index, base) in before.enumerated() where !seen.contains(index) && base != .null {
      theirs += 1
      let edit = byNumber[index + 1]
      tell("row \(index + 1) as it was", base, nil, edit == nil ? base : edit?.new)
      // An edited row stays even if the other program deleted it.
      if let new = edit?.new {
        overlaps += 1
        added.append(new)
      }
    }
    for (_, edit) in edits where edit.old == nil {
      if let new = edit.new {
        tell("new row", nil, nil, new)
        added.append(new)
      }
    }
    mine = edits.count
    merged = try file.write(over: bytes, changed, added, third)
  }

  private mutating func tell(_ name: String, _ base: Document?, _ theirs: Document?, _ mine: Document?) {
    guard lines.count < 10_000 else { return }
    lines.append(name)
    let sides = [base, theirs, mine].map { $0 ?? .null }
    for field in Set(
      Document.difference(sides[0], sides[1]).map(\.path) + Document.difference(sides[0], sides[2]).map(\.path)
    )
    .sorted(by: { $0.description < $1.description }) {
      let texts = sides.map { $0[field]?.compactText(limit: 60) ?? "–" }
      let mark = texts[1] != texts[0] && texts[2] != texts[0] && texts[1] != texts[2] ? "⚠ " : "  "
      lines.append("\(mark)\(field.shortText)   was \(texts[0])   in the file \(texts[1])   mine \(texts[2])")
    }
  }

  /// The rows as they were opened; null stands for an unreadable one.
  private static func documents(
    of file: DocumentFile, in store: EngineStore, _ progress: WorkProgress?
  ) throws(ModelError) -> [Document] {
    guard let opened = file.report.commit, let rowNumber = file.rowNumber,
      let datastore = try store.view(at: opened).datastore(file.datastore)
    else { return [] }
    var documents: [Document] = []
    var records = try datastore.records()
    while try records.next() {
      guard case .integer(let number) = try records.identifier.value, let record = try records.rawRecord() else {
        continue
      }
      while documents.count < Int(number) - 1 { documents.append(.null) }
      let document = try record.document()
      documents.append(try onDocument(document.removing(rowNumber)))
      try file.report(documents.count, to: progress)
    }
    return documents
  }

  private static func origins(of now: [Document], in before: [Document], by path: DocumentPath) -> [Int?] {
    var places: [Document: Int] = [:]
    for (index, document) in before.enumerated() {
      guard let value = document[path], places.updateValue(index, forKey: value) != nil else { continue }
      // A field that a person has chosen need not tell the rows apart.
      return Document.origins(of: now, in: before)
    }
    return now.map { document in document[path].flatMap { places.removeValue(forKey: $0) } }
  }
}
