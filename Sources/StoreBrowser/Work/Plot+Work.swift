import StrataDocuments
package import StrataModel

/// Plots two fields of a table's rows as points, counted into the dots of a chart.
package struct PlotRequest: Question, Hashable {
  package var readsOn: Bool { true }
  package var source: RowSource
  package var commit: CommitNumber
  /// The rows of a filter; nil for the whole range.
  package var ranks: RowRanks?
  /// The fields; nil chooses the two most suitable ones.
  package var x: String?
  package var y: String?
  /// The field whose most frequent values become separate series.
  package var by: String?
  /// Nil for everything.
  package var frame: ScatterCount.Frame?
  /// Dots across and down in the available room, and the width of one relative to its height.
  package var columns: Int
  package var rows: Int
  package var dotAspect: Double

  /// The number of separate series, beside the one of all others.
  private static let seriesLimit = 5

  package func reply(in context: WorkContext) throws(ModelError) -> PlotReply {
    let reader = PlotReader(request: self, rows: try RowReader(source, ranks: self.ranks, at: commit, in: context))
    let (x, y) = try reader.fields()
    let by = try by.map { text throws(ModelError) in try WorkContext.path(text) }
    let (xPath, yPath) = (try WorkContext.path(x), try WorkContext.path(y))
    let isMap = PlotReader.isDegrees(x, "lon", "lng") && PlotReader.isDegrees(y, "lat")
    let all: ScatterCount.Frame
    if let frame = self.frame { all = frame } else { all = try reader.ends(xPath, yPath, isMap: isMap) }
    let series = try by.map { path throws(ModelError) in try reader.commonest(path, limit: Self.seriesLimit) } ?? []
    let (frame, columns, rows) = isMap ? shaped(all) : (all, self.columns, self.rows)
    var count = ScatterCount(frame, columns: columns, rows: rows, series: max(1, series.count + (by == nil ? 0 : 1)))
    var ranks = Array(repeating: Int32(-1), count: columns * rows)
    var missing = 0
    try reader.rows.forEach(selecting: [xPath, yPath] + [by].compactMap { $0 }) { rank, document in
      guard let document else { return }
      guard let x = document[xPath]?.plotted, let y = document[yPath]?.plotted else {
        missing += 1
        return
      }
      let value = by.map { document[$0] ?? .null }
      let index = value.map { value in series.firstIndex { $0 == value } ?? series.count } ?? 0
      guard count.add(x, y, series: index), let dot = count.dot(x, y) else { return }
      let slot = dot.row * columns + dot.column
      if ranks[slot] < 0 { ranks[slot] = Int32(clamping: rank) }
    }
    var names = series.map { ValueText(cell: $0).visible }
    if by != nil { names.append(ValueText(text: "other", kind: .missing)) }
    return PlotReply(
      request: self, x: x, y: y, count: count, ranks: ranks, series: names, withoutNumbers: missing)
  }
}

package struct PlotReply: Sendable {
  package var request: PlotRequest
  package var x: String
  package var y: String
  package var count: ScatterCount
  /// For each dot the rank of the first row in it; −1 if there is none.
  package var ranks: [Int32]
  /// The name of each series; the last is `other` if there are more values. Empty without `by`.
  var series: [ValueText]
  /// Rows without a number in one of the fields.
  package var withoutNumbers: Int
}

/// The point at the cross-hair.
package struct PlotPointRequest: Question, Hashable {
  static let slot = WorkSlot(name: "plot-point")
  package var source: RowSource
  package var commit: CommitNumber
  package var rank: Int
  package var x: String
  package var y: String

  package func reply(in context: WorkContext) throws(ModelError) -> PlotPoint? {
    let datastore = try context.datastore(source.datastore, at: commit)
    guard let entry = try datastore.index(source.index).entries(at: rank..<rank + 1).first,
      let stored = try datastore.record(entry.identifier)?.document()
    else { return nil }
    let document = try DerivedFields(source, at: commit, in: context).adding(to: stored)
    let label = stored.label() ?? ""
    return PlotPoint(
      rank: rank, identifier: entry.identifier, label: label,
      x: ValueText(cell: document[try WorkContext.path(x)]).text,
      y: ValueText(cell: document[try WorkContext.path(y)]).text)
  }
}

package struct PlotPoint: Sendable, Hashable {
  package var rank: Int
  package var identifier: StoredKey
  package var label: String
  package var x: String
  package var y: String
}

extension PlotRequest {
  /// A map keeps its proportions and takes as much of the room as they allow.
  fileprivate func shaped(_ frame: ScatterCount.Frame) -> (ScatterCount.Frame, columns: Int, rows: Int) {
    let (width, height) = (frame.x.upperBound - frame.x.lowerBound, frame.y.upperBound - frame.y.lowerBound)
    guard width > 0, height > 0, width.isFinite, height.isFinite else { return (frame, columns, rows) }
    let wanted = width / height
    let room = Double(columns) * dotAspect / Double(rows)
    if wanted < room {
      return (frame, max(2, min(columns, Int((Double(rows) * wanted / dotAspect).rounded()))), rows)
    }
    return (frame, columns, max(2, min(rows, Int((Double(columns) * dotAspect / wanted).rounded()))))
  }
}

/// Reads the rows of a plot.
private struct PlotReader {
  let request: PlotRequest
  let rows: RowReader

  static func isDegrees(_ path: String, _ names: String...) -> Bool {
    let name = path.split(separator: ".").last.map { $0.lowercased() } ?? ""
    return names.contains { name.hasPrefix($0) }
  }

  /// The requested fields; otherwise those of a map if there is one, otherwise the first two numeric fields.
  func fields() throws(ModelError) -> (x: String, y: String) {
    if let x = request.x, let y = request.y { return (x, y) }
    var names: [String] = []
    try rows.forEach(limit: 200) { _, document in
      for field in document?.fields ?? [] where field.value.number != nil && !names.contains(field.path.description) {
        names.append(field.path.description)
      }
    }
    if request.x == nil, let x = names.first(where: { Self.isDegrees($0, "lon", "lng") }),
      let y = names.first(where: { Self.isDegrees($0, "lat") })
    {
      return (x, y)
    }
    let identifier = rows.datastore.descriptor.identifierPath
    let x = request.x ?? names.first { $0 != identifier } ?? names.first
    guard let x,
      let y = request.y ?? names.first(where: { $0 != x && $0 != identifier }) ?? names.first(where: { $0 != x })
    else {
      throw .refused(
        reason: "a plot needs two fields that are numbers; the first records have \(names.count == 1 ? "one" : "none")")
    }
    return (x, y)
  }

  /// The minimum and maximum of both fields: the whole world for a map, otherwise found by reading the rows.
  func ends(_ x: DocumentPath, _ y: DocumentPath, isMap: Bool) throws(ModelError) -> ScatterCount.Frame {
    var (lowX, highX, lowY, highY) = (Double.infinity, -Double.infinity, Double.infinity, -Double.infinity)
    if isMap, rows.isWhole, rows.total > 2_000 { return ScatterCount.Frame(x: -180...180, y: -90...90) }
    if rows.isWhole, let known = try indexed(x), let other = try indexed(y) {
      return ScatterCount.Frame(x: known, y: other)
    }
    try rows.forEach(selecting: [x, y]) { _, document in
      guard let x = document?[x]?.plotted, let y = document?[y]?.plotted else { return }
      (lowX, highX) = (min(lowX, x), max(highX, x))
      (lowY, highY) = (min(lowY, y), max(highY, y))
    }
    guard lowX <= highX else {
      throw .refused(reason: "no record has a number in both \(x.shortText) and \(y.shortText)")
    }
    return ScatterCount.Frame(x: Self.padded(lowX...highX), y: Self.padded(lowY...highY))
  }

  /// The minimum and maximum of a field that an index has.
  private func indexed(_ path: DocumentPath) throws(ModelError) -> ClosedRange<Double>? {
    guard let index = try rows.datastore.exactIndex(of: path) else { return nil }
    let count = try index.count
    guard count > 0, index.descriptor.encoding.isByteOrdered,
      let first = try index.entries(at: 0..<1).first?.value.plotted,
      let last = try index.entries(at: count - 1..<count).first?.value.plotted, first <= last
    else { return nil }
    return Self.padded(first...last)
  }

  private static func padded(_ range: ClosedRange<Double>) -> ClosedRange<Double> {
    range.lowerBound < range.upperBound ? range : range.lowerBound - 1...range.upperBound + 1
  }

  /// The most frequent values of a field in the first rows.
  func commonest(_ path: DocumentPath, limit: Int) throws(ModelError) -> [Document] {
    var counts: [String: (value: Document, count: Int)] = [:]
    try rows.forEach(limit: 20_000, selecting: [path]) { _, document in
      guard let document else { return }
      let value = document[path] ?? .null
      counts[value.isLeaf ? value.compactJSON : "{}", default: (value, 0)].count += 1
    }
    let sorted = counts.sorted { ($0.value.count, $1.key) > ($1.value.count, $0.key) }
    return sorted.prefix(limit).map(\.value.value)
  }
}

extension KeyValue {
  fileprivate var plotted: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .double(let number): number.isFinite ? number : nil
    default: nil
    }
  }
}

extension Document {
  fileprivate var plotted: Double? { number.flatMap { $0.isFinite ? $0 : nil } }
}
