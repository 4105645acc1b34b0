import Documents

extension DocumentFile {
  /// What a file of documents becomes.
  package enum Rewriting: Sendable {
    case bytes([UInt8])
    /// Another program has changed the file since it was read.
    case changed(FileComparison)
  }

  /// The bytes of the file as the newest commit of its store has it: what was not edited keeps its bytes, also rows that could
  /// not be read.
  ///
  /// - Throws: `ModelError.refused` if the file's encoding has no bytes for a character that was typed.
  package func rewritten(from store: OwnStore) throws(ModelError) -> Rewriting {
    let bytes = try FileBytes.read(path)
    let mine = try edits(in: store)
    guard FileBytes.digest(of: bytes) == digest else {
      return .changed(try FileComparison(self, bytes, mine, store))
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
    return .bytes(try write(over: bytes, numbered, added))
  }

  func write(
    over bytes: [UInt8], _ edits: [Int: FileRewriter.Edit], _ added: [Document]
  ) throws(ModelError) -> [UInt8] {
    if edits.isEmpty, added.isEmpty { return bytes }
    let (text, isMarked) = try text(of: bytes)
    var source = try TableSource(bytes: text, name: path, encoding: .utf8)
    return try encoding.bytes(
      of: FileRewriter.text(over: text, read: &source, key: key, edits: edits, added: added), isMarked: isMarked)
  }

  /// The text of the file in UTF-8; of a file that is in UTF-8 with its byte order mark, otherwise whether it has one.
  func text(of bytes: [UInt8]) throws(ModelError) -> (text: [UInt8], isMarked: Bool) {
    encoding == .utf8 ? (bytes, false) : (try encoding.text(of: bytes, of: path), encoding.isMarked(bytes))
  }

  /// What was edited, by the numbers of rows in their order: documents as they are in the file.
  func edits(
    in store: OwnStore
  ) throws(ModelError) -> [(number: Int, edit: (old: Document?, new: Document?))] {
    guard let opened = report.commit, let rowNumber else {
      throw .refused(reason: "\(path) was opened for reading only")
    }
    var edits: [(Int, (Document?, Document?))] = []
    let changes = try store.changes(from: opened, to: store.head.commit)
    while true {
      let part = try changes.next(512)
      if part.isEmpty { return edits }
      for change in part where change.datastore == datastore {
        guard case .integer(let number) = change.identifier.value else { continue }
        func document(_ record: Record?) throws(ModelError) -> Document? {
          guard let document = try record?.document() else { return nil }
          return try onDocument(document.removing(rowNumber))
        }
        edits.append((Int(number), (try document(change.old), try document(change.new))))
      }
    }
  }
}

/// A file that another program changed, beside what was edited of it here, row by row.
package struct FileComparison: Sendable {
  /// Each row that either side changed, as the file was, as it is now, and as it is here.
  package private(set) var lines: [String] = []
  /// How many rows the other program changed, how many were edited here, and how many fields both changed differently.
  package private(set) var theirs = 0
  package private(set) var mine = 0
  package private(set) var overlaps = 0
  /// The file as it is now with the edits from here in it; where both changed a field, that from here.
  package private(set) var merged: [UInt8] = []

  init(
    _ file: DocumentFile, _ bytes: [UInt8], _ edits: [(number: Int, edit: (old: Document?, new: Document?))],
    _ store: OwnStore
  ) throws(ModelError) {
    let (text, _) = try file.text(of: bytes)
    var source = try TableSource(bytes: text, name: file.path, encoding: .utf8)
    for column in file.columns where column.type != .empty {
      source.follow(ColumnRule(column.type, origin: "in the file as it was opened"), at: column.path)
    }
    var rows = NumberedRows(source: source, rowName: nil, key: file.key)
    var now: [Document] = []
    while let row = try rows.next(.all) {
      if case .document(let document) = row.content { now.append(document) } else { now.append(.null) }
    }
    let before = try Self.documents(of: file, in: store)
    let origins =
      file.identifier.map { Self.origins(of: now, in: before, by: $0) } ?? Document.origins(of: now, in: before)
    let byNumber = Dictionary(edits.map { ($0.number, $0.edit) }, uniquingKeysWith: { $1 })
    var (changed, added): ([Int: FileRewriter.Edit], [Document]) = ([:], [])
    var seen: Set<Int> = []
    for (index, origin) in origins.enumerated() {
      let base = origin.map { before[$0] }
      if let origin { seen.insert(origin) }
      let edit = origin.flatMap { byNumber[$0 + 1] }
      if base != now[index] { theirs += 1 }
      guard let base, let edit else {
        if base != now[index] { tell("row \(index + 1)", base, now[index], base) }
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
      // An edited row outlives its deletion elsewhere.
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
    merged = try file.write(over: bytes, changed, added)
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

  /// The rows as they were opened; null stands for one that could not be read.
  private static func documents(of file: DocumentFile, in store: OwnStore) throws(ModelError) -> [Document] {
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
    }
    return documents
  }

  private static func origins(of now: [Document], in before: [Document], by path: DocumentPath) -> [Int?] {
    var places: [Document: Int] = [:]
    for (index, document) in before.enumerated() { if let value = document[path] { places[value] = index } }
    return now.map { document in document[path].flatMap { places.removeValue(forKey: $0) } }
  }
}
