package import DatastoreModel

/// Writes records to a file.
package struct ExportRequest: Sendable {
  package var source: RowSource
  package var commit: CommitNumber
  package var which: GatherRequest.Which
  package var file: String
  package var format: ExportFormat
  /// The columns of a CSV, by path.
  package var columns: [String]
}

package enum ExportFormat: String, Sendable, Hashable, CaseIterable {
  case jsonl, json, csv

  /// By the ending of a file; JSON Lines for any other.
  package init(file: String) {
    let ending = file.split(separator: ".").last.map { $0.lowercased() } ?? ""
    self = Self(rawValue: ending) ?? .jsonl
  }
}

package struct ExportAnswer: Sendable {
  package var file: String
  package var records: Int
  package var bytes: Int
}

extension WorkContext {
  /// Streams: memory does not grow with the number of records.
  func export(_ request: ExportRequest) throws(ModelError) -> ExportAnswer {
    let datastore = try datastore(request.source.datastore, at: request.commit)
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
    func write(_ text: String) throws(ModelError) { answer.bytes += try output.write(text) }
    let total = request.which.count
    switch request.format {
    case .json: try write("[")
    case .csv: try write(CSVText.line(request.columns.map { $0.hasPrefix(".") ? String($0.dropFirst()) : $0 }))
    case .jsonl: break
    }
    let paths = try request.columns.map { text throws(ModelError) in try Self.path(text) }
    for chunk in request.which.chunks(of: 128) {
      try goOn()
      for identifier in try identifiers(chunk, of: request.source, at: request.commit) {
        guard let document = try datastore.record(identifier)?.document() else { continue }
        switch request.format {
        case .jsonl: try write(document.compactJSON + "\n")
        case .json: try write((answer.records == 0 ? "\n" : ",\n") + document.compactJSON)
        case .csv: try write(CSVText.line(paths.map { CSVText.field(document[$0]) }))
        }
        answer.records += 1
      }
      report(Progress(done: answer.records, total: total))
    }
    if request.format == .json { try write(answer.records == 0 ? "]\n" : "\n]\n") }
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

/// Comma-separated values as RFC 4180 has them.
enum CSVText {
  static func line(_ fields: [String]) -> String { fields.map(quoted).joined(separator: ",") + "\r\n" }

  static func field(_ value: Document?) -> String {
    switch value {
    case nil, .null: ""
    case .string(let text): text
    case .some(let value): value.compactJSON
    }
  }

  private static func quoted(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }) else { return text }
    var result = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" { result += "\"" }
      result.unicodeScalars.append(scalar)
    }
    return result + "\""
  }
}
