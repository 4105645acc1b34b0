import StrataModel
import StrataDocuments

/// Writes the lines of a list to a file, in the order in which they are shown.
struct ListExport: Question {
  static let slot = WorkSlot(name: "list-export", isLong: true, isInCockpit: true)
  var columns: [String]
  var rows: [[Document]]
  var file: String
  var format: TableWriter.Format

  struct Reply: WordedReply {
    var sentence: String
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    try context.files.requireNew(file)
    var bytes = 0
    try context.files.write(file) { output throws(ModelError) in
      var writer = TableWriter(format, columns: columns.map { DocumentPath([.member($0)]) }, headings: columns)
      bytes += try output.add(writer.beginning)
      for row in rows {
        try context.goOn()
        bytes += try output.add(writer.row(.object(zip(columns, row).map { Document.Member($0, $1) })))
      }
      bytes += try output.add(writer.end)
    }
    return Reply(sentence: "\(NumberFormat.counted(rows.count, "line")), \(NumberFormat.bytes(bytes)) in \(file)")
  }
}
