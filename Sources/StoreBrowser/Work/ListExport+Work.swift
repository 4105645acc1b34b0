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
      // Two columns may have one name, as the groups of a field that is called count have.
      let names = format.separator == nil ? columns : columns.indices.map { String($0) }
      var writer = TableWriter(format, columns: names.map { DocumentPath([.member($0)]) }, headings: columns)
      bytes += try output.add(writer.beginning)
      for row in rows {
        try context.goOn()
        bytes += try output.add(writer.row(.object(zip(names, row).map { Document.Member($0, $1) })))
      }
      bytes += try output.add(writer.end)
    }
    return Reply(sentence: "\(NumberFormat.counted(rows.count, "line")), \(NumberFormat.bytes(bytes)) in \(file)")
  }
}
