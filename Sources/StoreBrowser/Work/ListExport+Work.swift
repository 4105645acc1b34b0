import StrataModel
import StrataDocuments

/// Writes the lines of a list to a file, in the order in which they are shown.
struct ListExport: Question {
  static let slot = WorkSlot(name: "list-export", isLong: true, isInCockpit: true)
  var columns: [String]
  var count: Int
  /// Makes the values of a line when it is written, because a list may have more values than memory holds.
  var row: @Sendable (Int) -> [Document]
  /// Whether lines that follow each other may be parts of one row.
  var joinsLines: Bool
  var file: String
  var format: TableWriter.Format

  struct Reply: WordedReply {
    var sentence: String
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    try context.files.requireNew(file)
    var (bytes, rows, last) = (0, 0, [Document]?.none)
    // A name that occurs again gets the number of its column: an object has each member once.
    var known: Set<String> = []
    let names = columns.enumerated().map { known.insert($1).inserted ? $1 : "\($1) (\($0 + 1))" }
    try context.files.write(file) { output throws(ModelError) in
      var writer = TableWriter(format, columns: names.map { DocumentPath([.member($0)]) }, headings: names)
      bytes += try output.add(writer.beginning)
      for row in (0..<count).lazy.map(row) where !joinsLines || row != last {
        try context.goOn()
        (rows, last) = (rows + 1, row)
        bytes += try output.add(writer.row(.object(zip(names, row).map { Document.Member($0, $1) })))
      }
      bytes += try output.add(writer.end)
    }
    return Reply(sentence: "\(NumberFormat.counted(rows, "line")), \(NumberFormat.bytes(bytes)) in \(file)")
  }
}
