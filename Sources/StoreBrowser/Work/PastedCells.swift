import StrataDocuments
import StrataModel

/// A block of cells from a spreadsheet, for the rows from the cursor down and the columns from the cursor to the right.
package struct PastedCells: Sendable, Hashable {
  /// A column of the table for one of the block.
  struct Column: Sendable, Hashable {
    var path: DocumentPath
    /// The kind of the field in other records, for those in which it is null or missing.
    var kind: FieldKind?
    /// Why the field cannot be changed; nil if it can.
    var refusal: String?
  }

  private(set) var rows: [[String]] = []
  var columns: [Column] = []
  /// The rows of the table that are there for the block.
  var present = 0

  /// Reads lines of cells that are separated by tabs. A cell with a tab, a line break or a quote of its own is in quotes.
  /// Unlike in a file, a blank line is a row, with an empty cell.
  init(_ text: String) {
    var (row, cell, isQuoted): ([String], String, Bool) = ([], "", false)
    var rest = text[...]
    while let character = rest.popFirst() {
      if isQuoted {
        if character == "\"", rest.first == "\"" { rest.removeFirst() } else if character == "\"" { isQuoted = false }
        if isQuoted { cell.append(character) }
      } else if character == "\"", cell.isEmpty {
        isQuoted = true
      } else if character == "\t" || character.isNewline {
        row.append(cell)
        cell = ""
        guard character.isNewline else { continue }
        rows.append(row)
        row = []
      } else {
        cell.append(character)
      }
    }
    if !row.isEmpty || !cell.isEmpty { rows.append(row + [cell]) }
  }

  var title: String {
    "paste of \(NumberFormat.counted(rows.count, "row")) × \(NumberFormat.counted(rows.map(\.count).max() ?? 0, "column"))"
  }

  /// Puts the cells of a row into a record. Throws, naming the column, if one of them is not a value of its field.
  func put(_ row: [String], into document: Document) throws(DocumentError) -> Document {
    var changed = document
    for (cell, column) in zip(row, columns) {
      let old = document[column.path]
      if cell == FieldKind.text(of: old) { continue }
      if let refusal = column.refusal { throw .refused(reason: "\(column.path.shortText): \(refusal)") }
      let value = try value(of: cell, in: column, over: old)
      changed =
        old == nil ? try changed.inserting(value, at: column.path) : try changed.setting(column.path, to: value)
    }
    return changed
  }

  private func value(of cell: String, in column: Column, over old: Document?) throws(DocumentError) -> Document {
    let kind = FieldKind(of: old, in: column.kind)
    if cell.isEmpty, kind != .string {
      throw .refused(reason: "\(column.path.shortText): an empty cell is not a valid \(kind.rawValue)")
    }
    switch kind.value(of: cell, over: old) {
    case .success(let value): return value
    case .failure(let failure):
      // Without a kind, a cell that is not a number, true or false is a text.
      if kind == .json, (old ?? .null) == .null, let text = failure.suggestion { return text }
      throw .refused(reason: "\(column.path.shortText): \(failure.reason)")
    }
  }
}

extension Browser {
  /// Shows the changes that a pasted block would make; Enter there stages them.
  mutating func pasteCells(_ text: String) {
    if let refusal = refusal(of: CommandTable.entry(.edit)) { return session.warn("not pasted: \(refusal)") }
    guard let source = table.source, let place = table.selectedPlace(session) else { return }
    var cells = PastedCells(text)
    guard let widest = cells.rows.map(\.count).max() else { return session.warn("there is nothing to paste") }
    let columns = table.visibleColumns(session).dropFirst(table.column).prefix(widest)
    guard columns.count == widest else {
      let there = NumberFormat.counted(columns.count, "column")
      return session.warn("not pasted: the block is \(widest) columns wide, and from the cursor there are \(there)")
    }
    let identifier = identifierPath(of: place)
    for column in columns {
      guard let path = table.path(of: column, session).flatMap({ try? DocumentPath(parsing: $0) }) else {
        return session.warn("not pasted: \(column.title) is not a field")
      }
      let refusal = path == identifier ? "the identifier stays" : source.derivation(of: path)
      cells.columns.append(.init(path: path, kind: columnKind(path, of: place), refusal: refusal))
    }
    let ranks = table.shownRanks.dropFirst(table.list.selection).prefix(cells.rows.count)
    let new = table.insertions(session).dropFirst(max(0, table.list.selection - table.storedCount))
      .prefix(cells.rows.count - ranks.count).map(\.identifier)
    cells.present = ranks.count + new.count
    bulk(.paste(cells), in: (.ranks(RowRanks(list: Array(ranks))), new))
  }
}
