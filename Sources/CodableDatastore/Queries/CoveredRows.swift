import StrataModel

/// The rows of an answer along an index that has them. Reads no record.
struct CoveredRows<Instance: Sendable, Row> {
  private let index: CoveringIndex<Instance, Row>
  private var cursor: TypedCursor
  /// The rest of the answer if its order is not that of the entries, the next row at the end.
  private var gathered: [Row]?

  /// - Returns: nil if no index has the rows, or if the answer has an order that would have to be made of all of them.
  init?<Format: DatastoreFormat>(
    _ rows: Rows<Instance, Row>, of run: TypedQueryRun<Format>
  ) async throws where Format.Instance == Instance {
    guard run.page.after == nil, let index = try CoveringIndex(rows, of: run), index.ranges.count <= 1 else {
      return nil
    }
    let page = run.page
    var ranks = index.ranges.first ?? 0..<0
    var isBackward = false
    switch run.plan.order {
    case .along(index.name, isDescending: false):
      ranks = ranks.dropFirst(page.offset).prefix(page.most)
    case .reversed(index.name):
      ranks = ranks.dropLast(page.offset).suffix(page.most)
      isBackward = true
    case .identifiers where run.core.identifiers.order.isBytes: break
    default: return nil
    }
    self.index = index
    cursor = index.entries.walk(at: ranks, isBackward: isBackward)
    if run.plan.order == .identifiers { gathered = try await gather(page.offset, page.most, run.slices) }
  }

  mutating func next() throws -> Row? {
    if gathered != nil { return gathered?.popLast() }
    return try read()?.row
  }

  private mutating func read(withIdentifier: Bool = false) throws -> (identifier: [UInt8], row: Row)? {
    guard try throwingStoreErrors({ try cursor.advance() }) else { return nil }
    let read = cursor.entry.withUnsafeBytes { entry -> (identifier: [UInt8], row: Row)? in
      guard let identifier = EntryKey.identifierRange(entry),
        let row = index.row(of: UnsafeRawBufferPointer(rebasing: entry[..<identifier.lowerBound]))
      else { return nil }
      return (withIdentifier ? Array(entry[identifier]) : [], row)
    }
    guard let read else { throw StoreError(.damaged, "An entry of the index \(index.name) cannot be read.") }
    return read
  }

  private mutating func gather(_ offset: Int, _ most: Int, _ slices: TimeSlices) async throws -> [Row] {
    var found: [(identifier: [UInt8], row: Row)] = []
    while let next = try read(withIdentifier: true) {
      found.append(next)
      guard found.count & 15 == 0 else { continue }
      try Task.checkCancellation()
      if slices.isUsedUp() { await slices.yieldTask() }
    }
    found.sort { $0.identifier.lexicographicallyPrecedes($1.identifier) }
    return found.dropFirst(offset).prefix(most).reversed().map(\.row)
  }
}
