package import StrataModel

/// Writes records to a file.
package struct ExportRequest: Question {
  package var source: RowSource
  package var commit: CommitNumber
  package var which: GatherRequest.Which
  package var file: String
  package var format: TableWriter.Format
  /// The columns of a CSV, by path.
  package var columns: [String]
  /// Whether an existing file may be replaced.
  package var replaces = false

  /// Writes a stream: memory does not grow with the number of records.
  package func reply(in context: WorkContext) throws(ModelError) -> ExportAnswer {
    let datastore = try context.datastore(source.datastore, at: commit)
    if !replaces, context.files.exists(file) {
      return ExportAnswer(unasked: self, file: file, records: 0, bytes: 0)
    }
    let output = try context.files.create(file)
    do throws(ModelError) {
      let answer = try context.export(self, from: datastore, to: output)
      try output.close()
      return answer
    } catch {
      output.discard()
      throw error
    }
  }
}

extension TableWriter.Format {
  /// Chooses the format by the extension of a file: JSON Lines if it has none, nil for an unknown one.
  init?(file: String) {
    let name = file.split(separator: "/").last ?? ""
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count > 1, let ending = parts.last?.lowercased() else {
      self = .jsonl
      return
    }
    self.init(rawValue: ending)
  }
}

package struct ExportAnswer: EndingReply {
  /// The request that was not carried out, because a file exists that it must not replace.
  package var unasked: ExportRequest?
  package var file: String
  package var records: Int
  package var bytes: Int

  var sentence: String {
    "\(NumberFormat.counted(records, "record")), \(NumberFormat.bytes(bytes)) in \(file)"
  }
  var ending: WorkRun.Ending { unasked == nil ? .done(sentence) : .cancelled }
}

extension WorkContext {
  fileprivate func export(
    _ request: ExportRequest, from datastore: any ReadableDatastore, to output: FileOutput
  ) throws(ModelError) -> ExportAnswer {
    var answer = ExportAnswer(file: request.file, records: 0, bytes: 0)
    func write(_ bytes: [UInt8]) throws(ModelError) { answer.bytes += try output.write(bytes) }
    var writer = TableWriter(
      request.format, columns: try request.columns.map { text throws(ModelError) in try Self.path(text) })
    let fields = DerivedFields(request.source, at: request.commit, in: self)
    try write(writer.beginning)
    for chunk in request.which.chunks(of: 128) {
      try goOn()
      let documents = try identifiers(chunk, of: request.source, at: request.commit)
        .map { identifier throws(ModelError) in try datastore.record(identifier)?.document() }
      try fields.prepare(documents)
      for case .some(let document) in documents {
        try write(writer.row(fields.adding(to: document)))
        answer.records += 1
      }
      report(Progress(done: answer.records, total: request.which.count))
    }
    try write(writer.end)
    return answer
  }
}

extension GatherRequest.Which {
  var count: Int {
    switch self {
    case .identifiers(let identifiers): identifiers.count
    case .ranks(let ranks): ranks.count
    }
  }

  func chunks(of size: Int) -> [Self] {
    stride(from: 0, to: count, by: size).map { start in
      let places = start..<min(count, start + size)
      switch self {
      case .identifiers(let identifiers): return .identifiers(Array(identifiers[places]))
      case .ranks(let ranks): return .ranks(RowRanks(list: Array(ranks[places])))
      }
    }
  }
}
