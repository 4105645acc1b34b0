import StrataDocuments
import StrataModel
import StoreBrowser
import StrataTerminal

// The verbs that print an overview of records: describe, blame.

extension VerbRun {
  /// Prints the contents of each field, one line per field.
  func describe() throws {
    try printAllReadable(of: datastore(in: view(of: store()))) { try printDescription(of: $0) }
  }

  private func printDescription(of datastore: any ReadableDatastore) throws {
    let description = try description(of: datastore)
    if isJSON {
      for field in description.fields { try line(.description(field, of: description)) }
      return
    }
    try output.line("\(datastore.descriptor.key): \(counted(description.total, "record"))")
    if description.unreadable > 0 { try output.line("  ⚠ \(counted(description.unreadable, "record")) cannot be read") }
    let nameWidth = description.fields.map { SafeText.width($0.name) }.max() ?? 0
    for field in description.fields {
      let kinds = field.kinds.map { "\($0.kind.typeName) \($0.count)" }.joined(separator: ", ")
      var parts = ["\(SafeText.padded(field.name, nameWidth))  \(kinds.isEmpty ? "nothing" : kinds)"]
      if field.nulls > 0 { parts.append("null \(field.nulls)") }
      if field.missing > 0 { parts.append("missing \(field.missing)") }
      parts.append("distinct \(field.isEstimated ? "~" : "")\(field.distinct)")
      if let index = field.index { parts.append("index \(index)") }
      try output.line(parts.joined(separator: "  "))
      let ends = ([field.least].compactMap { $0 } + field.quartiles + [field.greatest].compactMap { $0 })
      let indent = String(repeating: " ", count: nameWidth + 2)
      if !ends.isEmpty {
        let rough = field.isRounded ? "~" : ""
        let sums = field.sum.flatMap { sum in field.mean.map { "  sum \(rough)\(sum)  mean \(rough)\($0)" } } ?? ""
        let quartiles =
          field.areQuartilesSampled ? "least, ~quartiles of a sample, greatest" : "least, quartiles, greatest"
        let names = field.quartiles.count == 3 ? quartiles : "least, greatest"
        try output.line("\(indent)\(names): \(ends.map(shown).joined(separator: "  "))\(sums)")
      }
      let commonest = field.commonest.prefix(5).map { "\(shown($0.value)) ×\($0.count)" }
      if !commonest.isEmpty {
        try output.line(
          "\(indent)commonest\(field.areCountsLeast ? ", at least" : ""): \(commonest.joined(separator: "  "))")
      }
    }
  }

  /// A value on a line that has several.
  private func shown(_ value: Document) -> String { SafeText.cut(value.compactJSON, to: 100) }

  /// Returns the description of all records, or of those that meet `--where`.
  private func description(of datastore: any ReadableDatastore) throws -> DatastoreDescription {
    var fields = RowDescription()
    guard arguments.value("--where") != nil else {
      try fields.see(recordsOf: datastore)
      return try fields.description(indexes: datastore)
    }
    try forEachRecord(of: datastore) { fields.see(try? $0.document()) }
    return try fields.description()
  }

  /// Prints for each field the commit that last wrote it. A list or an object comes before its contents, with the newest commit that
  /// changed anything in it.
  func blame() throws {
    let store = try store()
    let view = try view(of: store)
    let datastore = try datastore(in: view)
    let record = try record(required(2), of: datastore)
    let place = RecordPlace(datastore: datastore.descriptor.key, identifier: record.identifier)
    let parts = try store.life(of: place, from: view.commit).parts.filter { !$0.path.isRoot }
    let width = parts.map { SafeText.width($0.path.description) }.max() ?? 0
    for (path, commit) in parts.map({ ($0.path, $0.commit) }) {
      let author = commit.author.isEmpty ? commit.program : commit.author
      let parts = [
        SafeText.padded(path.description, width), SafeText.padded(commit.number.description, 6),
        Clock.text(commit.date), author, commit.action,
      ]
      try tell(
        [
          "path": .string(path.description), "commit": .commit(commit.number),
          "date": .string(Clock.iso8601(commit.date)),
          "action": .string(commit.action), "author": .string(commit.author), "program": .string(commit.program),
        ], or: parts.filter { !$0.isEmpty }.joined(separator: "  ").onOneLine)
    }
  }
}

extension Document {
  /// `{"field":…,"types":{…},"null":…,"missing":…,"count":…,"distinct":…,"estimated":…,…}`
  static func description(_ field: FieldDescription, of datastore: DatastoreDescription) -> Document {
    let quartiles = field.quartiles.count == 3 ? field.quartiles : []
    return .object(of: [
      "field": .string(field.name),
      "types": .object(field.kinds.map { Member("\($0.kind)", .count($0.count)) }),
      "records": .count(datastore.total), "null": .count(field.nulls), "missing": .count(field.missing),
      "count": .count(field.count), "distinct": .count(field.distinct), "estimated": .bool(field.isEstimated),
      "least": field.least, "quartile1": quartiles.first, "median": quartiles.dropFirst().first,
      "quartile3": quartiles.last, "greatest": field.greatest, "sum": field.sum.map(Document.number),
      "mean": field.mean.map(Document.number), "rounded": field.isRounded ? true : nil,
      "sampled": field.areQuartilesSampled ? true : nil,
      "commonest": .array(field.commonest.map { ["value": $0.value, "count": .count($0.count)] }),
      "index": field.index.map(Document.string),
    ])
  }
}
