package import DatastoreModel

/// Writes records to a file.
package struct ExportRequest: Sendable {
  package var source: RowSource
  package var commit: CommitNumber
  package var which: GatherRequest.Which
  package var file: String
  package var format: TableWriter.Format
  /// The columns of a CSV, by path.
  package var columns: [String]
  /// Whether a file that is there already may go.
  package var replaces = false
}

extension TableWriter.Format {
  /// By the ending of a file; JSON Lines where it has none, nil where it says something else.
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

package struct ExportAnswer: Sendable {
  /// What was not done, because a file is there already that the request does not replace.
  package var unasked: ExportRequest?
  package var file: String
  package var records: Int
  package var bytes: Int
}

extension WorkContext {
  /// Streams: memory does not grow with the number of records.
  func export(_ request: ExportRequest) throws(ModelError) -> ExportAnswer {
    let datastore = try datastore(request.source.datastore, at: request.commit)
    if !request.replaces, files.exists(request.file) {
      return ExportAnswer(unasked: request, file: request.file, records: 0, bytes: 0)
    }
    let output = try files.create(request.file)
    do throws(ModelError) {
      let answer = try export(request, from: datastore, to: output)
      try output.close()
      return answer
    } catch {
      output.discard()
      throw error
    }
  }

  private func export(
    _ request: ExportRequest, from datastore: any ReadableDatastore, to output: FileOutput
  ) throws(ModelError) -> ExportAnswer {
    var answer = ExportAnswer(file: request.file, records: 0, bytes: 0)
    func write(_ bytes: [UInt8]) throws(ModelError) { answer.bytes += try output.write(bytes) }
    var writer = TableWriter(
      request.format, columns: try request.columns.map { text throws(ModelError) in try Self.path(text) })
    try write(writer.beginning)
    for chunk in request.which.chunks(of: 128) {
      try goOn()
      for identifier in try identifiers(chunk, of: request.source, at: request.commit) {
        guard let document = try datastore.record(identifier)?.document() else { continue }
        try write(writer.row(document))
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
      case .ranks(let ranks): return .ranks(Array(ranks[places]))
      }
    }
  }
}
