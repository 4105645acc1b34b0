import StrataModel
import StrataDocuments
import StoreBrowser

// `records` with --group-by, --distinct or --select: columns instead of whole records.

extension VerbRun {
  /// The options that make columns of `records`.
  static let groupingOptions = ["--group-by", "--distinct"]

  /// Prints a line for each group, or for each distinct value.
  func printGroups(of datastore: any ReadableDatastore) throws {
    let isDistinct = arguments.has("--distinct")
    let keys = try fields("--distinct", in: datastore) + fields("--group-by", in: datastore)
    let query = RecordQuery(filter: try query(in: datastore, sorted: false).filter)
    try complainOfUnknown(keys + Self.figureOptions.flatMap { try fields($0.name, in: datastore) }, in: datastore)
    let grouping = RecordGrouping(by: keys, figures: isDistinct ? [] : try figures(in: datastore))
    if arguments.has("--explain") {
      let plan = try grouping.explanation(of: query, in: datastore)
      return try tell(["plan": .string(plan)], or: plan)
    }
    var groups = try grouping.groups(of: query, in: datastore)
    if isDistinct, arguments.has("--count") {
      return isJSON ? try line(["count": .count(groups.count)]) : try output.line("\(groups.count)")
    }
    try sort(&groups, of: grouping, in: datastore)
    let rest = groups.dropFirst(try arguments.count("--offset") ?? 0).prefix(try arguments.count("--limit") ?? .max)
    let names = grouping.columns
    for group in rest { try output.line(cellLine(group.cells, named: names, isJSON: isJSON)) }
  }

  /// The fields that `--select` names.
  func selection(in datastore: any ReadableDatastore) throws -> SelectedFields? {
    guard arguments.has("--select") else { return nil }
    let paths = try fields("--select", in: datastore)
    try complainOfUnknown(paths, in: datastore)
    return SelectedFields(paths)
  }

  /// The fields of an option, which may name several with commas between them, and be given several times; or indexes of them.
  private func fields(_ option: String, in datastore: any ReadableDatastore) throws -> [DocumentPath] {
    let paths: [DocumentPath] = try arguments.values(option).flatMap { text in
      do {
        return try RecordQuery.order(parsing: text).map(\.path)
      } catch {
        return try RecordQuery.names(in: text).map { try fieldPath($0) }
      }
    }
    return named(paths, in: datastore)
  }

  /// Fields, also those of indexes that are named for them.
  private func named(_ paths: [DocumentPath], in datastore: any ReadableDatastore) -> [DocumentPath] {
    RecordQuery(sort: paths.map { ($0, false) }).named(in: datastore).sort.map(\.path)
  }

  /// The figures in the order in which a line has them.
  private func figures(in datastore: any ReadableDatastore) throws -> [RecordGrouping.Figure] {
    try (arguments.has("--count") ? [.count] : [])
      + Self.figureOptions.flatMap { try fields($0.name, in: datastore).map($0.figure) }
  }

  /// The options that compute a figure over the records of a group.
  private static let figureOptions: [(name: String, figure: @Sendable (DocumentPath) -> RecordGrouping.Figure)] = [
    ("--sum", { .sum($0) }), ("--mean", { .mean($0) }), ("--least", { .least($0) }), ("--greatest", { .greatest($0) }),
  ]

  private func complainOfUnknown(_ paths: [DocumentPath], in datastore: any ReadableDatastore) throws {
    let names = try RecordQuery(sort: paths.map { ($0, false) }).unknownNames(in: datastore)
    for name in names { complain(name.sentence) }
  }

  /// Sorts groups by the columns that `--sort` names; equal ones stay in the order of their keys.
  private func sort(
    _ groups: inout [RecordGroup], of grouping: RecordGrouping, in datastore: any ReadableDatastore
  ) throws {
    for text in arguments.values("--sort").flatMap({ RecordQuery.names(in: $0) }).reversed() where !text.isEmpty {
      let isSeparator = { (character: Character) in character == ":" || character == " " }
      let direction = String(text.split(whereSeparator: isSeparator).last ?? "")
      let isDescending = ["desc", "descending"].contains(direction)
      var name = text[...]
      if isDescending || ["asc", "ascending"].contains(direction) {
        name = name.dropLast(direction.count)
        while name.last.map(isSeparator) == true { name.removeLast() }
      }
      let column =
        grouping.columns.firstIndex(of: String(name))
        ?? (try? fieldPath(String(name))).flatMap { grouping.keys.firstIndex(of: named([$0], in: datastore)[0]) }
      guard let column else {
        throw UsageError(
          "groups are sorted by one of their columns, \(grouping.columns.joined(separator: ", ")), not by “\(text)”",
          verb: arguments.verb)
      }
      groups.sort(by: column, isDescending: isDescending)
    }
  }
}

/// The fields that `--select` names, with everything that is the same for all records.
struct SelectedFields: Sendable {
  private let paths: [DocumentPath]
  private let names: [String]
  private let selection: DocumentSelection

  init(_ paths: [DocumentPath]) {
    self.paths = paths
    names = paths.map(TableWriter.heading)
    selection = DocumentSelection(paths)
  }

  func line(of record: Record, isJSON: Bool) throws(ModelError) -> String {
    let document = try record.document(at: selection)
    return cellLine(paths.map { document[$0] ?? .null }, named: names, isJSON: isJSON)
  }
}

/// Cells as an object, or as texts with tabs between them.
private func cellLine(_ cells: [Document], named names: [String], isJSON: Bool) -> String {
  if isJSON { return Document.object(zip(names, cells).map { Document.Member($0, $1) }).compactJSON }
  return cells.map(\.cellText).joined(separator: "\t")
}

extension Document {
  /// A value in a line of columns: texts as they are, if they fit into one.
  fileprivate var cellText: String {
    guard case .string(let text) = self, !text.isEmpty, text != "null",
      !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { return compactJSON }
    return text
  }
}
