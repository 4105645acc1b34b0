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
    if isDistinct, arguments.has("--group-by") {
      throw UsageError("--distinct does not go with --group-by", verb: arguments.verb)
    }
    for option in ["--select", "--after"] where arguments.has(option) {
      throw UsageError("\(option) does not go with \(isDistinct ? "--distinct" : "--group-by")", verb: arguments.verb)
    }
    let keys = try fields("--distinct") + fields("--group-by")
    let query = RecordQuery(filter: try query(in: datastore, sorted: false).filter)
    try complainOfUnknown(keys + Self.figureOptions.flatMap { try fields($0) }, in: datastore)
    let grouping = RecordGrouping(by: keys, figures: isDistinct ? [] : try figures())
    if arguments.has("--explain") { return try output.line(grouping.explanation(of: query, in: datastore)) }
    var groups = try grouping.groups(of: query, in: datastore)
    if isDistinct, arguments.has("--count") {
      return isJSON ? try line(["count": .count(groups.count)]) : try output.line("\(groups.count)")
    }
    try sort(&groups, of: grouping)
    let rest = groups.dropFirst(try arguments.count("--offset") ?? 0).prefix(try arguments.count("--limit") ?? .max)
    for group in rest { try printCells(group.cells, named: grouping.columns) }
  }

  func printSelection(_ paths: [DocumentPath], of record: Record) throws {
    let document = try record.document(at: DocumentSelection(paths))
    try printCells(paths.map { document[$0] ?? .null }, named: paths.map(\.shortText))
  }

  /// The fields that `--select` names.
  func selection(in datastore: any ReadableDatastore) throws -> [DocumentPath]? {
    guard arguments.has("--select") else { return nil }
    let paths = try fields("--select")
    try complainOfUnknown(paths, in: datastore)
    return paths
  }

  private func printCells(_ cells: [Document], named names: [String]) throws {
    if isJSON {
      try line(.object(zip(names, cells).map { Document.Member($0, $1) }))
    } else {
      try output.line(cells.map(\.cellText).joined(separator: "\t"))
    }
  }

  /// The fields of an option, which may name several with commas between them, and be given several times.
  private func fields(_ option: String) throws -> [DocumentPath] {
    try arguments.values(option).flatMap { text in
      do {
        return try RecordQuery.order(parsing: text).map(\.path)
      } catch {
        return try RecordQuery.names(in: text).map { try fieldPath($0) }
      }
    }
  }

  /// The figures in the order in which a line has them.
  private func figures() throws -> [RecordGrouping.Figure] {
    let count: [RecordGrouping.Figure] = arguments.has("--count") ? [.count] : []
    return try count + fields("--sum").map { .sum($0) } + fields("--mean").map { .mean($0) }
      + fields("--least").map { .least($0) } + fields("--greatest").map { .greatest($0) }
  }

  /// The options that compute a figure over the records of a group.
  static let figureOptions = ["--sum", "--mean", "--least", "--greatest"]

  private func complainOfUnknown(_ paths: [DocumentPath], in datastore: any ReadableDatastore) throws {
    let names = try RecordQuery(sort: paths.map { ($0, false) }).unknownNames(in: datastore)
    for name in names { complain(name.sentence) }
  }

  /// Sorts groups by the columns that `--sort` names; equal ones stay in the order of their keys.
  private func sort(_ groups: inout [RecordGroup], of grouping: RecordGrouping) throws {
    for text in arguments.values("--sort").flatMap({ $0.split(separator: ",").map(String.init) }).reversed() {
      let words = text.split { $0 == ":" || $0 == " " }.map(String.init)
      let isDescending = ["desc", "descending"].contains(words.last ?? "")
      let name = isDescending || ["asc", "ascending"].contains(words.last ?? "") ? words.dropLast() : words[...]
      guard let column = grouping.columns.firstIndex(of: name.joined(separator: " ")) else {
        throw UsageError(
          "groups are sorted by one of their columns, \(grouping.columns.joined(separator: ", ")), not by “\(text)”",
          verb: arguments.verb)
      }
      groups.sort(by: column, isDescending: isDescending)
    }
  }
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
