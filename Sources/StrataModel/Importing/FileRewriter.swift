import StrataDocuments

/// Rewrites a file of documents so that only the edited parts have other bytes.
///
///     id,name⏎      the text before the first row
///     1,Bern⏎       a row, and its separator from the next
///     oops⏎         a row that could not be read: its bytes stay
///     2,Kobe⏎       the last row, and the text after it
///
/// The same holds for lists, objects and lines of JSON. In an edited row, unchanged cells or values keep their bytes. New rows follow the
/// last one.
struct FileRewriter {
  struct Edit {
    var old: Document
    /// Nil deletes the row.
    var new: Document?
  }

  private let text: [UInt8]
  private let reader: CellReader?
  private let format: TableSource.Format
  private let key: DocumentPath?
  private let edits: [Int: Edit]
  private let added: [Document]
  /// The keys that edited and new rows get.
  private var newKeys: Set<String> = []
  /// Fields that get a new column after the existing ones.
  private let addedColumns: [DocumentPath]
  private var bytes: [UInt8] = []
  /// The end in `bytes` of the last row so far that stays.
  private var keptEnd: Int?
  /// The text before the first row, the text between the first two rows, and the first row itself.
  private var firstGap: ArraySlice<UInt8> = []
  private var secondGap: ArraySlice<UInt8>?
  private var firstRow: ArraySlice<UInt8> = []
  private var lastCells: [CellReader.Cell]?

  /// Makes a rewriter of a file.
  ///
  /// - Parameters:
  ///   - text: the present text, in UTF-8; `source` reads it.
  ///   - key: the field that holds the key of a document.
  ///   - edits: by the number of the row, from 1.
  ///   - added: new rows.
  init(
    _ text: [UInt8], of source: TableSource, key: DocumentPath?, edits: [Int: Edit], added: [Document]
  ) throws(ModelError) {
    (self.text, self.key, self.edits, self.added) = (text, key, edits, added)
    reader = source.cells
    format = source.format
    var fields = TableColumns()
    if source.cells != nil { for document in edits.values.compactMap(\.new) + added { fields.see(document) } }
    let known = source.columns.map(\.path)
    addedColumns = fields.columns.filter { field in !known.contains { $0.contains(field) } }
    for edit in edits.values { if let new = edit.new { try take(new, over: edit.old) } }
    for document in added { try take(document, over: nil) }
  }

  /// Returns the new text; `note` gets the number of each row of the file.
  mutating func rewritten(
    from source: inout TableSource, note: (Int) throws(ModelError) -> Void
  ) throws(ModelError) -> [UInt8] {
    var at = appendBeginning()
    let beginning = bytes.count
    var (number, rows, skipsGap) = (0, 0, false)
    while let row = try source.next() {
      number += 1
      try note(number)
      guard let span = row.span else { continue }
      rows += 1
      let gap = text[at..<span.lowerBound]
      if rows == 1 { (firstGap, firstRow) = (gap, text[span]) }
      if rows == 2 { secondGap = gap }
      bytes += skipsGap ? afterLine(gap) : gap
      at = span.upperBound
      skipsGap = false
      let kept = edits[number].map { $0.new.flatMap { name($0) } } ?? row.key
      if let kept, kept == row.key, newKeys.contains(kept) { throw Self.isTaken(kept) }
      switch edits[number] {
      case nil:
        bytes += text[span]
        if case .document = row.content { appendAddedCells(of: nil) }
      case .some(let edit):
        guard let new = edit.new else {
          skipsGap = true
          continue
        }
        append(new, over: edit.old, at: span, bodyStart: row.bodyStart ?? span.lowerBound)
      }
      keptEnd = bytes.count
      if reader != nil, !added.isEmpty, case .document = row.content {
        lastCells = reader?.cells(of: Array(text[span]))
      }
    }
    // The separators after the last row that stays are removed with the rows that they preceded.
    if skipsGap, let end = keptEnd ?? (isOfLines ? beginning : nil) { bytes.removeSubrange(end...) }
    var rest = text[at...]
    if isOfLines, bytes.isEmpty { rest = afterLine(rest) }
    for document in added { append(document) }
    if !added.isEmpty, text.isEmpty { bytes += lineBreak }
    return bytes + rest
  }

  /// Appends the text before all rows that is not a gap. Returns where it ends.
  private mutating func appendBeginning() -> Int {
    guard let reader else {
      guard !isOfLines else {
        let end = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        bytes += text[..<end]
        return end
      }
      let open = text.firstIndex { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") } ?? text.count - 1
      bytes += text[...open]
      return open + 1
    }
    bytes += text[..<reader.namesEnd]
    let names = addedColumns.map(TableWriter.heading)
    for (index, name) in names.enumerated() {
      if index > 0 || !reader.columns.isEmpty { bytes.append(reader.separator) }
      TableWriter.append(name, separator: reader.separator, isOnly: false, to: &bytes)
    }
    if !bytes.isEmpty { keptEnd = bytes.count }
    return reader.namesEnd
  }

  private var isOfLines: Bool { format != .jsonArray && format != .jsonObject }

  private var lineBreak: [UInt8] {
    guard let end = text.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) else {
      return [UInt8(ascii: "\n")]
    }
    return text[end...].starts(with: Array("\r\n".utf8)) ? Array("\r\n".utf8) : [text[end]]
  }

  /// Returns the part of a gap after the end of the previous line; nothing if the gap separates elements.
  private func afterLine(_ gap: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let end = lineBreak
    guard isOfLines, let last = end.last, let position = gap.firstIndex(of: last) else { return [] }
    return gap[(position + 1)...]
  }

  // MARK: Rows

  private mutating func append(_ new: Document, over old: Document, at span: Range<Int>, bodyStart: Int) {
    guard let reader else {
      appendKey(of: new, over: old, at: span.lowerBound..<bodyStart)
      let body = Array(text[bodyStart..<span.upperBound])
      bytes += (try? RecordCoding.json.encode(withoutKey(new), keeping: body)) ?? withoutKey(new).json(.compact)
      return
    }
    let row = Array(text[span])
    guard let cells = reader.cells(of: row) else { return bytes += row }
    for (index, column) in reader.columns.enumerated() {
      if index > 0 { bytes.append(reader.separator) }
      let value = new[column.path] ?? .null
      if value == old[column.path] ?? .null {
        bytes += row[cells[index].range]
      } else {
        appendCell(value, like: cells[index])
      }
    }
    appendAddedCells(of: new)
  }

  private mutating func appendAddedCells(of document: Document?) {
    guard let reader else { return }
    for (index, column) in addedColumns.enumerated() {
      if index > 0 || !reader.columns.isEmpty { bytes.append(reader.separator) }
      TableWriter.append(
        document.flatMap { TableWriter.cell($0[column]) }, separator: reader.separator,
        isOnly: reader.columns.isEmpty && addedColumns.count == 1, to: &bytes)
    }
  }

  private mutating func appendCell(_ value: Document, like cell: CellReader.Cell?) {
    guard let reader else { return }
    var text = TableWriter.cell(value)
    if case .bool = value, let old = cell?.text, CellType(cell: old) == .bool, old.first?.isUppercase == true {
      let isCapital = old.dropFirst().first?.isUppercase == true
      text = text.map { isCapital ? $0.uppercased() : $0.prefix(1).uppercased() + $0.dropFirst() }
    }
    TableWriter.append(
      text, separator: reader.separator, isQuoted: cell?.isQuoted ?? false,
      isOnly: reader.columns.count + addedColumns.count == 1, to: &bytes)
  }

  private mutating func appendKey(of new: Document, over old: Document, at range: Range<Int>) {
    guard let name = name(new), name != self.name(old) else { return bytes += text[range] }
    let space = text[range].reversed().prefix { $0 <= 0x20 || $0 == UInt8(ascii: ":") }.count
    bytes += Document.string(name).json(.compact) + text[range].suffix(space)
  }

  private func name(_ document: Document) -> String? { key.flatMap { TableWriter.cell(document[$0]) } }

  /// Notes the key of a new or edited row. Throws if it has none, or if another one gets the same.
  private mutating func take(_ new: Document, over old: Document?) throws(ModelError) {
    guard let key, old == nil || new[key] != old?[key] else { return }
    guard let name = name(new) else { throw .refused(reason: "a row has no \(key.shortText), its key in the file") }
    if !newKeys.insert(name).inserted { throw Self.isTaken(name) }
  }

  private static func isTaken(_ name: String) -> ModelError {
    .refused(reason: "two rows would have the key “\(name)” in the file")
  }

  private func withoutKey(_ document: Document) -> Document {
    key.flatMap { try? document.removing($0) } ?? document
  }

  private mutating func append(_ document: Document) {
    defer { keptEnd = bytes.count }
    if keptEnd != nil {
      bytes += isOfLines ? lineBreak[...] : secondGap ?? [UInt8(ascii: ",")] + firstGap
    }
    if let reader {
      for (index, column) in reader.columns.enumerated() {
        if index > 0 { bytes.append(reader.separator) }
        let value = document[column.path] ?? .null
        appendCell(value, like: value == .null ? nil : lastCells?[index])
      }
      return appendAddedCells(of: document)
    }
    if let name = name(document) { bytes += Document.string(name).json(.compact) + Array(": ".utf8) }
    let isFolded = firstRow.contains(UInt8(ascii: "\n"))
    let margin = firstGap.reversed().prefix { $0 == 0x20 || $0 == 0x09 }
    for byte in withoutKey(document).json(isFolded ? .pretty : .compact) {
      bytes.append(byte)
      if byte == UInt8(ascii: "\n") { bytes += margin }
    }
  }
}
