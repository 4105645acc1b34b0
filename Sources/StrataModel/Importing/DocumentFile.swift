package import StrataDocuments

/// A file of documents (CSV, TSV, JSON, JSON Lines) that is opened as a store in memory, with all features of a store.
///
/// The file itself is only read; `rewritten(from:)` makes its new bytes from the contents of the store. For that the records are the rows
/// of the file: each has its row's number as its identifier, whatever its cells become.
package struct DocumentFile: Sendable {
  package let path: String
  package let format: TableSource.Format
  package let encoding: TextEncoding
  /// The datastore of the documents: the file's name without its extension.
  package let datastore: String
  /// The field that identifies the rows; nil if there is none.
  package let identifier: DocumentPath?
  /// The field with the number of the row; nil if `identifier` identifies the records.
  package let rowNumber: DocumentPath?
  /// The field with the key of a document in its file; nil if it has no key.
  let key: DocumentPath?
  /// Columns of a table of cells, in their order.
  package let columns: [TableSource.Column]
  /// A sentence for each name that was changed.
  package let notes: [String]
  /// The result of the import, with the rows that could not be read.
  package let report: ImportReport
  /// The digest of the file's bytes as they were read.
  package let digest: UInt64

  /// Whether a path has a name of a file that can be opened.
  package static func isNamed(_ path: String) -> Bool {
    let name = path.lowercased()
    return [".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson"].contains {
      name.hasSuffix($0) && name.count > $0.count
    }
  }

  /// Reads a file into a store in memory.
  ///
  /// - Parameters:
  ///   - identifier: the name of the field that identifies the rows; nil finds it by the names.
  ///   - isEditable: whether the records are the rows, so that the file can be rewritten.
  ///   - progress: receives the number of documents read; the total is 0 while types are learnt.
  package static func open(
    _ path: String, identifier: String? = nil, encoding: TextEncoding? = nil, isEditable: Bool = true,
    author: String = "", progress: WorkProgress? = nil
  ) throws(ModelError) -> (store: EngineStore, file: DocumentFile) {
    let digest = try FileBytes.digest(of: path)
    var source = try TableSource(path: path, encoding: encoding)
    source.names.areKept = true
    let datastore = fileName(of: stem(of: path))
    let choice = try IdentifierChoice(&source, name: datastore)
    let named = try identifier.map { name throws(ModelError) in try source.path(named: name) }
    let key = choice.isKeyed ? DocumentPath([.member(choice.keyName)]) : nil
    if let named, named != key { try require(named, in: &source) }
    let found = named ?? choice.path ?? key
    let isNumbered = isEditable || found == nil
    let rowNumber = isNumbered ? DocumentPath([.member(choice.rowName)]) : nil
    let store = EngineStore.memory(path: path, program: "strata", author: author)
    // Rows to come are known by their numbers.
    let plan = ImportPlan(datastore: datastore, identifier: rowNumber ?? found ?? .root, later: [1])
    var rows = NumberedRows(source: source, rowName: isNumbered ? choice.rowName : nil, key: key)
    let report = try Importer(store, plan, progress: progress).run(&rows, named: "open \(fileName(of: path))")
    guard report.new > 0 || report.rejected == 0 else {
      throw .invalid(
        text: "", column: nil, reason: report.rejections.first?.description ?? "\(path) holds no documents")
    }
    guard try FileBytes.digest(of: path) == digest else {
      throw .refused(reason: "another program changed \(path) while it was read; open it again")
    }
    let file = DocumentFile(
      path: path, format: source.format, encoding: source.encoding, datastore: datastore, identifier: found,
      rowNumber: rowNumber, key: key, columns: source.columns, notes: source.notes, report: report, digest: digest)
    return (store, file)
  }

  /// Throws if documents or columns are there, and none is of this field.
  private static func require(_ field: DocumentPath, in source: inout TableSource) throws(ModelError) {
    var names = source.columns.map(\.path)
    try source.rewind()
    while !names.contains(field), let row = try source.next() {
      guard case .document(let document) = row.content else { continue }
      if document[field] != nil { names = [field] }
      if names.isEmpty, case .object(let members) = document {
        names = members.map { DocumentPath([.member($0.name)]) }
      }
    }
    try source.rewind()
    if names.isEmpty || names.contains(field) { return }
    throw .refused(
      reason: UnknownName(path: field, nearest: UnknownName.nearest(to: field.shortText, among: names.map(\.shortText)))
        .sentence)
  }

  package static func fileName(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// A path without the ending of its name: `cities` for `cities.csv`.
  package static func stem(of path: String) -> String {
    let name = path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex
    guard let point = path[name...].lastIndex(of: "."), point > name else { return path }
    return String(path[..<point])
  }
}

/// Rows with added fields: their number, and their key.
struct NumberedRows: ImportSource {
  private(set) var source: TableSource
  let rowName: String?
  let key: DocumentPath?
  private(set) var number = 0

  mutating func rewind() throws(ModelError) {
    number = 0
    try source.rewind()
  }

  mutating func next(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    guard var row = try source.next(key == nil ? wanted : .all) else { return nil }
    number += 1
    guard case .document(.object(var members)) = row.content else { return row }
    if let key, case .member(let name)? = key.components.first, let text = row.key {
      members.append(Document.Member(name, .string(text)))
      row.key = nil
    }
    if let rowName {
      members.append(Document.Member(rowName, .number(NumberText(number))))
      if var text = row.text {
        text.removeLast()
        if text.count > 1 { text.append(UInt8(ascii: ",")) }
        row.text = text + Array("\(JSONWriter.literal(rowName)):\(number)}".utf8)
      }
    }
    row.content = .document(.object(members))
    return row
  }
}
