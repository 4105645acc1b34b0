import StrataDocuments
package import StrataModel

/// Opens a table: the bounds of its range, the position of the selection, and the first rows.
package struct TableRequest: Question, Hashable {
  package var source: RowSource
  package var commit: CommitNumber
  package var anchor: Anchor
  package var screen: Int
  package var naming = Naming()
  /// The entry at which the range of rows begins.
  var rangeStart: IndexEntry?

  package enum Anchor: Sendable, Hashable {
    case position(Int)
    /// The selected entry, and its position then; if it is gone, also out of the range, its successor.
    case entry(IndexEntry, position: Int)
    /// A record, at whatever position it has in this order.
    case identifier(StoredKey)
    /// The staged new record with this number, after the stored ones.
    case staged(Int)
  }

  package func reply(in context: WorkContext) throws(ModelError) -> TableAnswer {
    let datastore = try context.datastore(source.datastore, at: commit)
    let index = try datastore.index(source.index)
    let bounds = try WorkContext.bounds(of: source.range, in: index)
    let (rank, isGone) = try context.place(anchor, in: index, bounds: bounds, isDescending: source.isDescending)
    let position = source.isDescending ? bounds.upperBound - 1 - rank : rank - bounds.lowerBound
    let selected = max(0, min(position, bounds.count - 1))
    let first = max(0, min(selected - screen, bounds.count - 3 * screen))
    let last = min(bounds.count, first + 3 * screen)
    let ranks = Array(RowRanks(run: bounds, isDescending: source.isDescending)[first..<max(first, last)])
    let rows = try context.rows(
      RowsRequest(
        source: source, commit: commit, first: first, ranks: ranks, naming: naming),
      in: datastore, index: index)
    var answer = TableAnswer(request: self, bounds: bounds, position: selected, anchorIsGone: isGone, rows: rows)
    if let rangeStart {
      answer.rangeStart = try index.rank(of: rangeStart.identifier, value: rangeStart.value)
      if answer.rangeStart == nil { answer.rangeStart = try index.rank(of: rangeStart.identifier, value: nil) }
    }
    return answer
  }
}

package struct TableAnswer: Sendable {
  package var request: TableRequest
  /// The ranks of the range in its index.
  package var bounds: Range<Int>
  package var position: Int
  /// Whether the selected entry no longer exists.
  package var anchorIsGone: Bool
  package var rows: RowsAnswer
  /// The rank of the entry at which the range of rows begins; nil if it is gone.
  var rangeStart: Int?
}

/// Rows of a window.
package struct RowsRequest: Question, Hashable {
  package var source: RowSource
  package var commit: CommitNumber
  /// The position of the first one in the table, and their ranks in the index, in the order of the table.
  package var first: Int
  package var ranks: [Int]
  package var naming = Naming()

  package func reply(in context: WorkContext) throws(ModelError) -> RowsAnswer {
    let datastore = try context.datastore(source.datastore, at: commit)
    return try context.rows(self, in: datastore, index: datastore.index(source.index))
  }
}

package struct RowsAnswer: Sendable {
  package var request: RowsRequest
  package var rows: [Row]
  /// Columns in the order in which they occur in the documents, with the kinds seen.
  var columns: [ColumnSeen]
}

struct ColumnSeen: Sendable, Hashable {
  var path: String
  var kind: ValueText.Kind
  /// The widest texts seen.
  var extent: ColumnExtent
  /// Whether labels are shown beside the values; `extent` includes them.
  var isNamed = false

  var width: Int { extent.width }
}

extension WorkContext {
  /// Returns the ranks between two bounds: two searches, whatever the number of entries between them.
  static func bounds(of range: KeyInterval?, in index: any ReadableIndex) throws(ModelError) -> Range<Int> {
    guard let range else { return 0..<(try index.count) }
    let lower = try index.rank(of: range.start)
    return lower..<max(lower, try index.rank(of: range.end))
  }

  fileprivate func place(
    _ anchor: TableRequest.Anchor, in index: any ReadableIndex, bounds: Range<Int>, isDescending: Bool
  ) throws(ModelError) -> (rank: Int, isGone: Bool) {
    switch anchor {
    case .position(let position):
      return (isDescending ? bounds.upperBound - 1 - position : bounds.lowerBound + position, false)
    case .staged: return (bounds.lowerBound, false)
    case .identifier(let identifier):
      guard let rank = try index.rank(of: identifier, value: nil) else { return (bounds.lowerBound, true) }
      return (rank, false)
    case .entry(let entry, let position):
      for value in [entry.value, nil] {
        if let rank = try index.rank(of: entry.identifier, value: value), bounds.contains(rank) { return (rank, false) }
      }
      guard (try? index.rank(of: .before(entry.value))) != nil else {
        return (isDescending ? bounds.upperBound - 1 - position : bounds.lowerBound + position, true)
      }
      return (try successor(of: entry, in: index), true)
    }
  }

  /// Returns the rank that an entry would have: after entries of lower values, and after lower identifiers of its own value.
  fileprivate func successor(of entry: IndexEntry, in index: any ReadableIndex) throws(ModelError) -> Int {
    var lower = try index.rank(of: .before(entry.value))
    var upper = try index.rank(of: .after(entry.value))
    while lower < upper {
      let middle = (lower + upper) / 2
      guard let found = try index.entries(at: middle..<middle + 1).first else { break }
      if found.identifier.bytes.lexicographicallyPrecedes(entry.identifier.bytes) {
        lower = middle + 1
      } else {
        upper = middle
      }
    }
    return lower
  }

  fileprivate func rows(
    _ request: RowsRequest, in datastore: any ReadableDatastore, index: any ReadableIndex
  ) throws(ModelError) -> RowsAnswer {
    var rows: [Row] = []
    var columns = ColumnScan()
    rows.reserveCapacity(request.ranks.count)
    let named = NamedCells(request.naming, datastore.descriptor)
    let labels = LabelReader(context: self, commit: request.commit, naming: request.naming)
    // A damaged record of a join takes its own fields from a row, not the row.
    var joining = self
    joining.leaveOut = leaveOut ?? { _ in }
    let fields = DerivedFields(request.source, at: request.commit, in: joining)
    let read = try entries(at: request.ranks, of: index).map { rank, entry throws(ModelError) in
      try goOn()
      return (rank, entry, document: Result { () throws(ModelError) in try datastore.record(entry.identifier)?.read })
    }
    try fields.prepare(read.map { try? $0.document.get()?.document })
    for (rank, entry, document) in read {
      do throws(ModelError) {
        guard let (record, document) = try document.get() else {
          rows.append(Row(rank: rank, entry: entry, problem: "the index has no such record"))
          continue
        }
        let cells = try fields.cells(of: document)
        let targets = try named.targets(in: document, labels)
        columns.add(cells, targets)
        rows.append(
          Row(
            rank: rank, entry: entry, version: record.version,
            cells: Dictionary(cells, uniquingKeysWith: { first, _ in first }),
            record: record.content.count <= Row.keptContent ? record : nil, problem: nil, targets: targets))
      } catch {
        rows.append(Row(rank: rank, entry: entry, problem: error.description))
      }
    }
    return RowsAnswer(request: request, rows: rows, columns: columns.seen)
  }

  /// The range of some adjacent ranks, ascending or descending.
  private func extent(of run: ArraySlice<Int>) -> Range<Int> {
    guard let first = run.first, let last = run.last else { return 0..<0 }
    return min(first, last)..<max(first, last) + 1
  }

  /// Returns the entries at ranks in any order; runs of adjacent ranks are read together.
  func entries(at ranks: [Int], of index: any ReadableIndex) throws(ModelError) -> [(rank: Int, entry: IndexEntry)] {
    // A piece at a time, so that a run of a million can be cancelled.
    var runs: [Range<Int>] = []
    var result: [(rank: Int, entry: IndexEntry)] = []
    result.reserveCapacity(ranks.count)
    var start = 0
    func readRuns() throws(ModelError) {
      try goOn()
      for (run, entries) in zip(runs, try index.entries(at: runs.map { extent(of: ranks[$0]) })) {
        let lowest = extent(of: ranks[run]).lowerBound
        for rank in ranks[run] where rank - lowest < entries.count { result.append((rank, entries[rank - lowest])) }
      }
      runs.removeAll(keepingCapacity: true)
    }
    while start < ranks.count {
      var end = start + 1
      let step = end < ranks.count && ranks[end] < ranks[start] ? -1 : 1
      while end < ranks.count, end - start < 1_024, ranks[end] == ranks[end - 1] + step { end += 1 }
      runs.append(start..<end)
      if runs.count == 256 || end - start == 1_024 { try readRuns() }
      start = end
    }
    try readRuns()
    return result
  }

  /// Returns the cells of a document: its members, and the members of nested objects one level down.
  static func cells(of document: Document) -> [(path: String, value: ValueText)] {
    guard case .object(let members) = document else { return [(".", ValueText(cell: document))] }
    var cells: [(path: String, value: ValueText)] = []
    let isEntity = document.isEntity
    for member in members {
      if isEntity, member.name == "properties", case .object(let properties) = member.value {
        for property in properties {
          guard let (kind, value) = property.value.entityValue else { continue }
          let path = DocumentPath.root.appending(member.name).appending(property.name).appending(kind)
          cells.append((path.description, ValueText(cell: value.withoutEntityLabelsInList)))
        }
      } else if isEntity, member.name == "id" {
        cells.insert((".id", ValueText(cell: member.value)), at: 0)
      } else if case .object(let inner) = member.value, !inner.isEmpty, inner.count <= 8 {
        let path = DocumentPath.text(ofMember: member.name)
        for part in inner {
          cells.append((path + DocumentPath.text(ofMember: part.name), ValueText(cell: part.value)))
        }
      } else {
        cells.append((DocumentPath.text(ofMember: member.name), ValueText(cell: member.value)))
      }
    }
    return cells
  }
}

/// The columns in which references show the labels of their targets.
private struct NamedCells {
  private let fields: ReferenceFields
  private let paths: Set<String>
  /// Labels identify entities, so their references always show them.
  private let isAlways: Bool

  init(_ naming: Naming, _ descriptor: DatastoreDescriptor) {
    fields = naming.fields(of: descriptor)
    paths = naming.columns[descriptor.key] ?? []
    isAlways = descriptor.keepsEntities
  }

  func targets(in document: Document, _ labels: LabelReader) throws(ModelError) -> [String: ReferenceTarget] {
    guard isAlways || !paths.isEmpty else { return [:] }
    var targets: [String: ReferenceTarget] = [:]
    for (path, value, target) in fields.values(in: document, limit: 64) {
      let column = path.description
      guard isAlways || paths.contains(column) else { continue }
      targets[column] = try labels.target(named: value, in: target)
    }
    return targets
  }
}

extension Record {
  fileprivate var read: (record: Record, document: Document) {
    get throws(ModelError) { (self, try document()) }
  }
}

extension Document {
  /// The elements of an entity's list without their labels and dates; any other value unchanged.
  fileprivate var withoutEntityLabelsInList: Document {
    guard case .array(let elements) = self else { return self }
    return .array(elements.map(\.withoutEntityLabels))
  }
}

/// Collects the columns of the documents read.
struct ColumnScan {
  private(set) var seen: [ColumnSeen] = []
  private var indexes: [String: Int] = [:]

  mutating func add(_ cells: [(path: String, value: ValueText)], _ targets: [String: ReferenceTarget] = [:]) {
    for cell in cells {
      var width = cell.value.visible(amongNumbers: false).text.count
      let label = targets[cell.path]?.label
      if let label { width += 3 + label.count }
      let extent = ColumnExtent(cell.value, width: width)
      if let index = indexes[cell.path] {
        seen[index].extent.widen(to: extent)
        if label != nil { seen[index].isNamed = true }
        if [.null, .missing, .problem].contains(seen[index].kind) { seen[index].kind = cell.value.kind }
      } else {
        indexes[cell.path] = seen.count
        seen.append(ColumnSeen(path: cell.path, kind: cell.value.kind, extent: extent, isNamed: label != nil))
      }
    }
  }
}
