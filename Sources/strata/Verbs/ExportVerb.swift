import StrataDocuments
import StrataLocks
import StrataModel
import StoreBrowser

extension VerbRun {
  /// Prints whole datastores: the bare documents of one, or all with their datastore, identifier and version.
  func export() throws {
    let store = try store()
    let view = try view(of: store)
    let format = arguments.value("--format").flatMap(TableWriter.Format.init) ?? .jsonl
    if let key = arguments.operand(1) {
      try printAllReadable(of: datastore(key, in: view)) { try exportDocuments(of: $0, as: format) }
    } else {
      try exportAll(of: view, as: format)
    }
  }

  private func exportDocuments(of datastore: any ReadableDatastore, as format: TableWriter.Format) throws {
    var survey = TableColumns()
    // A field that only the last record has needs its column too.
    if format.separator != nil { try forEachRecord(of: datastore) { try survey.see($0.document()) } }
    var writer = TableWriter(format, columns: survey.columns)
    try output.bytes(writer.beginning)
    if arguments.has("--versions") {
      if format.separator != nil { throw UsageError("--versions goes with JSON", verb: arguments.verb) }
      try forEachRecord(of: datastore) { try output.bytes(writer.row(Document.record($0, in: datastore.descriptor))) }
    } else {
      var run = try run(of: datastore)
      // New memory for each part would cost as long as the reading of its records.
      let written = Mutex<[[UInt8]]>([])
      try run.forEachPart { [writer] records throws(ModelError) in
        var (part, rows) = (writer.continued, written.withLock { $0.popLast() } ?? [])
        rows.removeAll(keepingCapacity: true)
        while try records.next() { if let record = try records.rawRecord() { try part.append(record, to: &rows) } }
        return rows
      } size: {
        $0.count
      } body: { rows in
        try output.bytes(writer.joined(rows))
        written.withLock { $0.append(rows) }
      }
    }
    try output.bytes(writer.end)
  }

  private func exportAll(of view: any ReadableView, as format: TableWriter.Format) throws {
    if arguments.has("--where") { throw UsageError("--where needs a DATASTORE", verb: arguments.verb) }
    if format.separator != nil {
      throw UsageError("a table has the columns of one datastore; name it", verb: arguments.verb)
    }
    var writer = TableWriter(format)
    try output.bytes(writer.beginning)
    for datastore in try datastores(of: view) {
      let before = writer
      try printAllReadable(of: datastore) { datastore in
        writer = before
        try forEachRecord(of: datastore) { record in
          let line = try Document.record(record, in: datastore.descriptor)
          guard case .object(let members) = line else { return }
          try output.bytes(writer.row(.object([.init("datastore", .string(datastore.descriptor.key))] + members)))
        }
      }
    }
    try output.bytes(writer.end)
  }
}
