package import StrataModel

/// Writes records to a file.
package struct ExportRequest: Question {
  package var readsOn: Bool { true }
  package var source: RowSource
  package var commit: CommitNumber
  package var which: GatherRequest.Which
  package var file: String
  package var format: TableWriter.Format
  /// The columns of a CSV, by path.
  package var columns: [String]
  /// Whether an existing file may be replaced.
  package var replaces = false

  /// Writes each record once, as a stream: memory does not grow with their number, except along an index that has records several times.
  package func reply(in context: WorkContext) throws(ModelError) -> ExportAnswer {
    let datastore = try context.datastore(source.datastore, at: commit)
    if !replaces, try context.files.holdsFile(file) {
      return ExportAnswer(isRefused: true, file: file, records: 0, bytes: 0)
    }
    var answer = ExportAnswer(file: file, records: 0, bytes: 0)
    try context.files.write(file) { output throws(ModelError) in
      func write(_ bytes: [UInt8]) throws(ModelError) { answer.bytes += try output.add(bytes) }
      var writer = TableWriter(
        format, columns: try columns.map { text throws(ModelError) in try WorkContext.path(text) })
      let fields = DerivedFields(source, at: commit, in: context)
      let hasMany = try datastore.index(source.index).descriptor.kind.hasManyValues
      var (seen, read): (Set<StoredKey>, Int) = ([], 0)
      try write(writer.beginning)
      for chunk in which.chunks(of: 128) {
        try context.goOn()
        let documents = try context.identifiers(chunk, of: source, at: commit)
          .filter { !hasMany || seen.insert($0).inserted }
          .map { identifier throws(ModelError) in try datastore.record(identifier)?.document() }
        try fields.prepare(documents)
        for case .some(let document) in documents {
          try write(writer.row(fields.adding(to: document)))
          answer.records += 1
        }
        read += chunk.count
        context.report(Progress(done: read, total: which.count))
      }
      try write(writer.end)
    }
    return answer
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
  /// Whether nothing was written, because a file exists that must not be replaced.
  package var isRefused = false
  package var file: String
  package var records: Int
  package var bytes: Int

  var sentence: String {
    "\(NumberFormat.counted(records, "record")), \(NumberFormat.bytes(bytes)) in \(file)"
  }
  var ending: WorkRun.Ending { isRefused ? .cancelled : .done(sentence) }
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
