package import Documents

/// A file of documents (CSV, TSV, JSON, JSON Lines) that is opened as a store in memory, with everything that a store has.
///
/// The file itself is only read; `write(_:to:)` gives its bytes anew from what the store holds.
package struct DocumentFile: Sendable {
  package let path: String
  package let format: TableSource.Format
  /// The datastore that the documents are in: the file's name without its ending.
  package let datastore: String
  /// The field that is the identifier.
  package let identifier: DocumentPath
  /// Whether the file has no such field, and its rows were numbered.
  package let isNumbered: Bool
  /// Columns of a table of cells, in their order.
  package let columns: [TableSource.Column]
  /// What was read, and which rows could not be.
  package let report: ImportReport

  /// Whether a path is named as a file that can be opened so.
  package static func isNamed(_ path: String) -> Bool {
    let name = path.lowercased()
    return [".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson"].contains {
      name.hasSuffix($0) && name.count > $0.count
    }
  }

  /// Reads a file into a store in memory.
  ///
  /// - Parameter progress: hears how many documents were read; the total is 0 while types are learnt.
  package static func open(
    _ path: String, program: String = "strata", author: String = "", progress: WorkProgress? = nil
  ) throws(ModelError) -> (store: OwnStore, file: DocumentFile) {
    var source = try TableSource(path: path)
    let choice = try IdentifierChoice(&source)
    let datastore = name(of: path)
    let store = OwnStore.memory(path: path, program: program, author: author)
    let plan = ImportPlan(datastore: datastore, identifier: choice.path)
    var rows = NumberedRows(source: source, numbers: choice.isNumbered)
    let report = try Importer(store, plan, progress: progress).run(&rows, named: "open \(fileName(of: path))")
    guard report.new > 0 || report.rejected == 0 else {
      throw .invalid(
        text: "", column: nil, reason: report.rejections.first?.description ?? "\(path) holds no documents")
    }
    let file = DocumentFile(
      path: path, format: source.format, datastore: datastore, identifier: choice.path, isNumbered: choice.isNumbered,
      columns: source.columns, report: report)
    return (store, file)
  }

  private static func fileName(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

  private static func name(of path: String) -> String {
    let name = fileName(of: path)
    guard let point = name.lastIndex(of: "."), point != name.startIndex else { return name }
    return String(name[..<point])
  }

  // MARK: Writing

  /// Hands over the bytes of the file as the records of `view` would have it, in the file's own form: the columns in
  /// their order and new ones behind them, numbered rows without their numbers.
  package func write(_ view: any ReadableView, to output: (_ bytes: [UInt8]) throws -> Void) throws {
    guard let records = try view.datastore(datastore) else {
      throw ModelError.noSuchDatastore(datastore, known: try view.datastores.map(\.descriptor.key))
    }
    if format == .jsonObject { return try writeObject(records, to: output) }
    var writer = try rowWriter(records)
    try output(writer.beginning)
    try forEach(records) { _, document in try output(writer.row(document)) }
    try output(writer.end)
  }

  private func writeObject(_ records: any ReadableDatastore, to output: (_ bytes: [UInt8]) throws -> Void) throws {
    var separator = "{\n"
    try forEach(records) { identifier, document in
      let key = if case .string(let text) = identifier.value { text } else { identifier.value.description }
      try output(
        Array("\(separator)  ".utf8) + Document.string(key).json(.compact) + Array(": ".utf8) + document.json(.compact))
      separator = ",\n"
    }
    try output(Array((separator == "{\n" ? "{}\n" : "\n}\n").utf8))
  }

  private func rowWriter(_ records: any ReadableDatastore) throws -> TableWriter {
    switch format {
    case .jsonArray: return TableWriter(.json)
    case .jsonLines, .jsonDocuments, .jsonObject: return TableWriter(.jsonl)
    case .separated(let separator):
      var survey = TableColumns()
      try forEach(records) { _, document in survey.see(document) }
      let known = columns.map(\.path)
      return TableWriter(
        .csv, columns: known + survey.columns.filter { !known.contains($0) },
        separator: separator.asciiValue ?? UInt8(ascii: ","))
    }
  }

  private func forEach(_ records: any ReadableDatastore, _ body: (StoredKey, Document) throws -> Void) throws {
    for start in stride(from: 0, to: try records.count, by: 256) {
      for entry in try records.primary.entries(at: start..<start + 256) {
        guard let document = try records.record(entry.identifier)?.document() else { continue }
        try body(entry.identifier, isNumbered ? try document.removing(identifier) : document)
      }
    }
  }
}

/// Finds the field that tells the documents of a file apart.
struct IdentifierChoice {
  let path: DocumentPath
  let isNumbered: Bool
  /// Whether the documents stand under keys, which are their identifiers.
  let isKeyed: Bool

  init(_ source: inout TableSource) throws(ModelError) {
    try source.rewind()
    var candidates: [String: Set<UInt64>]?
    var names: Set<String> = []
    var isKeyed = false
    while let row = try source.next() {
      guard case .document(.object(let members)) = row.content else { continue }
      isKeyed = isKeyed || row.key != nil
      for member in members { names.insert(member.name) }
      if candidates == nil {
        candidates = [:]
        for member in members where Self.rank(member.name) != nil { candidates?[member.name] = [] }
      }
      for name in candidates.map({ Array($0.keys) }) ?? [] {
        let value = members.first { $0.name == name }?.value
        if let hash = value.flatMap(Self.hash), candidates?[name]?.insert(hash).inserted == true { continue }
        candidates?[name] = nil
      }
    }
    try source.rewind()
    self.isKeyed = isKeyed
    let best = candidates?.keys.min { (Self.rank($0) ?? 9, $0.count, $0) < (Self.rank($1) ?? 9, $1.count, $1) }
    if let best, !isKeyed {
      (path, isNumbered) = (DocumentPath([.member(best)]), false)
    } else {
      let name = (isKeyed ? ["id", "key", "identifier"] : ["row", "row_number", "_row"]).first { !names.contains($0) }
      (path, isNumbered) = (DocumentPath([.member(name ?? "strata_row")]), true)
    }
  }

  /// How much a name looks like that of an identifier; nil not at all.
  private static func rank(_ name: String) -> Int? {
    switch name.lowercased() {
    case "id", "_id": 0
    case "identifier", "uuid", "guid", "key": 1
    case let name where name.hasSuffix("id") || name.hasSuffix("_key"): 2
    case "code", "sku", "isbn", "iban", "email", "slug": 3
    default: nil
    }
  }

  private static func hash(_ value: Document) -> UInt64? {
    switch value {
    case .number(let number) where number.isInteger:
      return ValueHash.number(number.double) &+ UInt64(number.text.utf8.count)
    case .string(var text): return text.withUTF8 { $0.isEmpty ? nil : ValueHash.text($0) }
    default: return nil
    }
  }
}

/// Rows with their number in the place of the identifier that they lack.
private struct NumberedRows: ImportSource {
  var source: TableSource
  let numbers: Bool
  private var number = 0

  init(source: TableSource, numbers: Bool) {
    self.source = source
    self.numbers = numbers
  }

  mutating func rewind() throws(ModelError) {
    number = 0
    try source.rewind()
  }

  mutating func next(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    // A number is set into the document.
    guard var row = try source.next(numbers ? .all : wanted) else { return nil }
    number += 1
    if numbers, row.key == nil { row.key = String(number) }
    return row
  }
}
