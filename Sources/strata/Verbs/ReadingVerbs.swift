import StrataExpressions
import StrataDocuments
import StrataModel
import StoreBrowser
import StrataTerminal

// The verbs that print what is in a store: info, records, get.

extension VerbRun {
  func info() throws {
    let store = try store()
    let view = store.head
    let datastores = try datastores(of: view)
    if isJSON {
      try line([
        "path": .string(store.path),
        "datastores": .array(datastores.map(summary)),
        "damage": store.damage.map(Document.string) ?? .null,
        "notes": .array(store.openingReport.map(Document.string)),
        "commits": .number(NumberText(Int64(clamping: store.commitCount))),
        "bytes": .number(NumberText(Int64(clamping: store.byteCount))),
        "historyBytes": store.historyBytes.map { .number(NumberText(Int64(clamping: $0))) } ?? .null,
        "pins": .array(store.pins.map { ["name": .string($0.name), "commit": .commit($0.commit)] }),
        "writer": store.writer.map(document) ?? .null,
      ])
      return
    }
    try output.line("\(store.path): \(counted(store.commitCount, "commit")), \(try store.byteCount) bytes")
    if let history = HistorySize(of: store) { try output.line("  \(history.text)") }
    for sentence in store.openingReport { try output.line("  ⚠ \(sentence)") }
    if let writer = store.writer {
      try output.line(
        "  written by \(writer.program) (process \(writer.processIdentifier)) since \(Clock.text(writer.since))")
    }
    for datastore in datastores {
      let descriptor = datastore.descriptor
      try output.line("")
      try output.line("\(descriptor.key): \(counted(try datastore.count, "record")), version \(descriptor.version)")
      try output.line("  \(SafeText.padded("id", 20)) \(descriptor.identifierType)")
      if let share = datastore.compressedText { try output.line("  \(SafeText.padded("values", 20)) \(share)") }
      let leftOut = try datastore.leftOutCount
      if leftOut > 0 {
        try output.line("  ⚠ \(counted(leftOut, "record")) left out of indexes built since (verify lists them)")
      }
      for index in datastore.indexes {
        let (name, type) = (SafeText.padded(index.descriptor.name, 20), index.descriptor.type)
        let direct = index.descriptor.storage == .direct ? ", direct" : ""
        let stale = index.descriptor.isStale ? ", stale" : ""
        try output.line("  \(name) \(type)\(direct)\(stale), \(counted(try index.count, "entry", "entries"))")
      }
    }
  }

  private func summary(_ datastore: any ReadableDatastore) throws -> Document {
    let indexes = try datastore.indexes.map { index -> Document in
      [
        "name": .string(index.descriptor.name),
        "type": .string(index.descriptor.type),
        "storage": .string(index.descriptor.storage.rawValue),
        "count": .count(try index.count),
        "stale": .bool(index.descriptor.isStale),
      ]
    }
    return [
      "key": .string(datastore.descriptor.key),
      "count": .count(try datastore.count),
      "version": .version(datastore.descriptor.version, in: datastore.descriptor),
      "identifier": .string(datastore.descriptor.identifierType),
      "leftOut": .count(try datastore.leftOutCount),
      "indexes": .array(indexes),
      "values": datastore.compressedShare.map { .number(NumberText(($0 * 1_000).rounded() / 1_000)) } ?? .null,
    ]
  }

  private func document(_ hold: WriterHold) -> Document {
    [
      "program": .string(hold.program), "pid": .number(NumberText(Int64(hold.processIdentifier))),
      "since": .string(Clock.iso8601(hold.since)),
    ]
  }

  func get() throws {
    let store = try store()
    let datastore = try datastore(in: view(of: store))
    let record = try record(required(2), of: datastore)
    try tell(.record(record, in: datastore.descriptor), or: record.document().prettyText)
  }

  /// The record of an ID; throws if there is none.
  func record(_ text: String, of datastore: any ReadableDatastore) throws(ModelError) -> Record {
    let identifier = try datastore.identifier(parsing: text)
    if let record = try datastore.record(identifier) { return record }
    throw .noSuchRecord(identifier.description, datastore: datastore.descriptor.key)
  }

  func records() throws {
    let store = try store()
    let datastore = try datastore(in: view(of: store))
    let queries = (["--sort", "--offset", "--after", "--count", "--explain", "--select"] + Self.groupingOptions)
      .filter(arguments.has)
    if arguments.has("--count"), !arguments.has("--group-by"),
      let part = ["--limit", "--offset"].first(where: arguments.has)
    {
      throw UsageError("\(part) does not go with --count, which counts all", verb: arguments.verb)
    }
    let bounds = ["--index", "--equal", "--from", "--above", "--below", "--through", "--descending"]
    guard let bound = bounds.first(where: arguments.has) else {
      let isGrouped = Self.groupingOptions.contains(where: arguments.has)
      try printAllReadable(of: datastore) { isGrouped ? try printGroups(of: $0) : try printRecords(of: $0) }
      return
    }
    if let option = queries.first { throw UsageError("\(option) does not go with \(bound)", verb: arguments.verb) }
    let index = try index(of: datastore)
    let (ranks, filter) = (try range(in: index), try query(in: datastore).named(in: datastore).filter)
    try printAllReadable(of: datastore) { datastore in
      try printRecords(of: datastore, along: (datastore as? ReadableRest)?.rest(of: index) ?? index, ranks, filter)
    }
  }

  private func printRecords(
    of datastore: any ReadableDatastore, along index: any ReadableIndex, _ ranks: Range<Int>, _ filter: Filter?
  ) throws {
    var test = filter.map { RecordTest($0) }
    var remaining = try arguments.count("--limit") ?? Int.max
    let isDescending = arguments.has("--descending")
    if arguments.value("--index") == nil, !isDescending {
      var records = try datastore.records(at: ranks)
      while remaining > 0, try records.next() {
        if test != nil, try records.rawRecord().map({ try test?.keeps($0) }) != true { continue }
        guard let record = try records.record() else { continue }
        remaining -= 1
        try print(record, in: datastore.descriptor)
      }
      return
    }

    for window in ranks.windows(isDescending: isDescending) where remaining > 0 {
      let entries = try index.entries(at: window)
      for entry in isDescending ? entries.reversed() : entries {
        guard remaining > 0 else { break }
        guard let record = try datastore.record(entry.identifier) else { continue }
        if try test?.keeps(record) == false { continue }
        remaining -= 1
        try print(record, in: datastore.descriptor)
      }
    }
  }

  /// Prints a record on a line.
  func print(_ record: Record, in datastore: DatastoreDescriptor) throws {
    let lines = recordLines(of: datastore)
    try output.append { try lines.append(record, to: &$0) }
  }

  func recordLines(of datastore: DatastoreDescriptor, _ fields: SelectedFields? = nil) -> RecordLines {
    RecordLines(datastore: datastore, fields: fields, isJSON: isJSON, isForTerminal: output.isTerminal)
  }

  private func index(of datastore: any ReadableDatastore) throws -> any ReadableIndex {
    let index = try datastore.index(arguments.value("--index"))
    if index.descriptor.isStale {
      let name = index.descriptor.name
      complain("index \(name) is stale: records may be missing or at the wrong place until the app rebuilds it")
    }
    return index
  }

  /// The ranks between the bounds that the options name.
  private func range(in index: any ReadableIndex) throws -> Range<Int> {
    func bound(_ option: String, _ make: (KeyValue) -> KeyBound) throws -> KeyBound? {
      try arguments.value(option).map { make(try index.value(parsing: $0)) }
    }
    let lower =
      try bound("--equal", KeyBound.before) ?? bound("--from", KeyBound.before) ?? bound("--above", KeyBound.after)
    let upper =
      try bound("--equal", KeyBound.after) ?? bound("--below", KeyBound.before) ?? bound("--through", KeyBound.after)
    let start = try lower.map { try index.rank(of: $0) } ?? 0
    let end = try upper.map { try index.rank(of: $0) } ?? index.count
    return start..<max(start, end)
  }
}

extension Range<Int> {
  /// The pieces in which a long range of ranks is read.
  func windows(isDescending: Bool = false) -> some Sequence<Range<Int>> {
    stride(from: 0, to: count, by: 256).lazy.map { offset in
      let end = Swift.min(offset + 256, count)
      return isDescending ? upperBound - end..<upperBound - offset : lowerBound + offset..<lowerBound + end
    }
  }
}

/// Records as lines: of JSON, or of the identifier and the document; or of some of their fields.
struct RecordLines: Sendable {
  let datastore: DatastoreDescriptor
  let fields: SelectedFields?
  let isJSON: Bool
  let isForTerminal: Bool

  /// Appends the line of a record. Bytes that are compact already go to a program as they lie.
  func append(_ record: Record, to bytes: inout [UInt8]) throws(ModelError) {
    if let fields {
      bytes.append(contentsOf: "\(try fields.line(of: record, isJSON: isJSON))\n".utf8)
    } else if !isForTerminal, record.content.withUnsafeBytes({ record.coding.isCompactJSON($0) }) {
      bytes += isJSON ? Document.beginning(of: record, in: datastore) : Array("\(record.identifier)\t".utf8)
      bytes += record.content
      bytes.append(contentsOf: isJSON ? "}\n".utf8 : "\n".utf8)
    } else if isJSON {
      bytes += try Document.record(record, in: datastore).json(.compact)
      bytes.append(UInt8(ascii: "\n"))
    } else {
      bytes.append(contentsOf: "\(record.identifier)\t\(try record.document().compactJSON)\n".utf8)
    }
  }
}
