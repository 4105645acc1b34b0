import StrataModel
import StrataDocuments

/// Looks for values that several records have, before an index is built that is meant to have one record per value.
struct RepeatsRequest: Question {
  static let slot = WorkSlot(name: "repeats", isLong: true)
  var path: DocumentPath
  var datastore: String
  var commit: CommitNumber

  struct Reply: Sendable {
    /// The number of values that several records have, and the first of these.
    var count: Int
    var repeats: [Repeat]
  }

  struct Repeat: Sendable {
    var value: Document
    /// The first records that have it.
    var records: [StoredKey]
    var count: Int
  }

  private static let listed = 100
  private static let listedRecords = 3

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    let rows = try RowReader(RowSource(datastore: datastore), ranks: nil, at: commit, in: context)
    // The rank at which a value occurred first, or a negative number after it occurred again.
    var firsts: [Int: Int32] = [:]
    var count = 0
    var places: [Int: Int] = [:]
    var found: [(value: Document, ranks: [Int], count: Int)] = []
    try rows.forEach(selecting: [path]) { rank, document in
      var values = [document?[path] ?? .null]
      if case .array(let elements) = values[0] { values = elements }
      for value in Set(values) where value != .null {
        let hash = value.hashValue
        guard let first = firsts[hash] else {
          firsts[hash] = Int32(clamping: rank)
          continue
        }
        if first >= 0 {
          count += 1
          firsts[hash] = -1
          if found.count < Self.listed {
            places[hash] = found.count
            found.append((value, [Int(first)], 1))
          }
        }
        guard let place = places[hash] else { continue }
        found[place].count += 1
        if found[place].ranks.count < Self.listedRecords { found[place].ranks.append(rank) }
      }
    }
    var repeats: [Repeat] = []
    for (value, ranks, count) in found {
      let records = try context.entries(at: ranks, of: rows.index).map(\.entry.identifier)
      repeats.append(Repeat(value: value, records: records, count: count))
    }
    return Reply(count: count, repeats: repeats)
  }
}

extension Browser {
  /// Builds the index, or first reports that its values repeat, with the records.
  mutating func build(_ change: IndexChange, of datastore: String, after reply: RepeatsRequest.Reply) {
    guard reply.count > 0, case .add(let name, let path, let kind) = change else {
      return build(change, of: datastore)
    }
    let other: IndexKind = kind == .oneToOne ? .oneToMany : .manyToMany
    let items: [MenuOverlay.Item] = [
      .init(title: "do not build it"),
      .init(
        title: "build it as \(other.rawValue)", detail: "",
        choice: Intent { $0.build(.add(name: name, path: path, kind: other), of: datastore) }),
      .init(
        title: "build it as \(kind.rawValue) all the same", detail: "the lowest identifier answers",
        choice: Intent { $0.build(change, of: datastore) }),
    ]
    let repeats = reply.repeats.map { found in
      let more = found.count > found.records.count ? ", …" : ""
      return MenuOverlay.Item(
        title:
          "\(ValueText(literal: found.value).text)  \(found.records.map(\.description).joined(separator: ", "))\(more)",
        detail: "  \(NumberFormat.counted(found.count, "record"))",
        choice: .select(RecordPlace(datastore: datastore, identifier: found.records[0])))
    }
    presentLate(
      MenuOverlay(
        title: "\(path.shortText): \(NumberFormat.counted(reply.count, "value")) of several records",
        items: items + repeats))
  }

  mutating func changed(_ reply: IndexChangeRequest.Reply) {
    guard case .changed(let report) = reply else { return }
    let change = report.change
    session.say("\(change.title): commit \(report.commit)\(change.wayBack.map { " — :\($0)" } ?? "")")
    wrote(report.commit)
  }

  /// Builds, rebuilds or drops an index while the user watches.
  mutating func build(_ change: IndexChange, of datastore: String) {
    // Another build may have begun while values were looked at.
    if let reason = session.runningRefusal(.warmUp) { return session.warn("\(change.title): not now: \(reason)") }
    open(.migration)
    with(MigrationPane.self) { $0.start(change, of: datastore, in: &$1) }
  }
}
