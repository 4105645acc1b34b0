import DatastoreModel

/// Sorts rows by key, holding key and rank only. Ties keep the order in which rows came.
///
/// What is more than the limit is sorted and written to a temporary file as a run; in the end the runs are merged, one
/// row of each in memory at a time.
struct RowSorter {
  /// Above so many bytes a run goes to the file.
  static let memoryLimit = 64 << 20

  private struct Item {
    var key: SortKey
    var rank: Int
    /// The order in which it came.
    var place: Int
  }

  private let isDescending: Bool
  private let limit: Int
  private var run: [Item] = []
  private var bytes = 0
  private var count = 0
  private var file: TemporaryFile?
  private var runs: [Range<Int>] = []
  private var fileEnd = 0

  init(isDescending: Bool, limit: Int = memoryLimit) {
    self.isDescending = isDescending
    self.limit = limit
  }

  /// How many runs went to the file.
  var runCount: Int { runs.count }

  mutating func add(_ key: SortKey, rank: Int) throws(ModelError) {
    run.append(Item(key: key, rank: rank, place: count))
    count += 1
    bytes += key.byteCount + 24
    if bytes > limit { try spill() }
  }

  /// The ranks in order. `goOn` throws where the work was cancelled.
  mutating func sorted(goOn: () throws(ModelError) -> Void) throws(ModelError) -> [Int] {
    try goOn()
    guard !runs.isEmpty else {
      sortRun()
      return run.map(\.rank)
    }
    try spill()
    return try merged(goOn: goOn)
  }

  private func isBefore(_ left: Item, _ right: Item) -> Bool {
    if left.key < right.key { return !isDescending }
    if right.key < left.key { return isDescending }
    return left.place < right.place
  }

  private mutating func sortRun() { run.sort(by: isBefore) }

  private mutating func spill() throws(ModelError) {
    guard !run.isEmpty else { return }
    sortRun()
    let target: TemporaryFile
    if let file { target = file } else { target = try TemporaryFile() }
    file = target
    let start = fileEnd
    var block: [UInt8] = []
    for item in run {
      item.key.append(to: &block)
      UInt64(item.rank).append(to: &block)
      UInt64(item.place).append(to: &block)
      guard block.count > 1 << 20 else { continue }
      try target.write(block, at: fileEnd)
      fileEnd += block.count
      block.removeAll(keepingCapacity: true)
    }
    try target.write(block, at: fileEnd)
    fileEnd += block.count
    runs.append(start..<fileEnd)
    run.removeAll(keepingCapacity: true)
    bytes = 0
  }

  private func merged(goOn: () throws(ModelError) -> Void) throws(ModelError) -> [Int] {
    guard let file else { return [] }
    var readers = runs.map { RunReader(file, $0) }
    var heads: [Item?] = []
    for reader in readers.indices { heads.append(try Self.next(&readers[reader])) }
    var ranks: [Int] = []
    ranks.reserveCapacity(count)
    while true {
      var best: Int?
      for (place, head) in heads.enumerated() {
        guard let head else { continue }
        if let current = best.flatMap({ heads[$0] }), !isBefore(head, current) { continue }
        best = place
      }
      guard let best, let item = heads[best] else { return ranks }
      ranks.append(item.rank)
      heads[best] = try Self.next(&readers[best])
      if ranks.count.isMultiple(of: 4096) { try goOn() }
    }
  }

  private static func next(_ reader: inout RunReader) throws(ModelError) -> Item? {
    guard let key = try SortKey(from: &reader) else { return nil }
    return Item(
      key: key, rank: Int(clamping: try reader.integer()), place: Int(clamping: try reader.integer()))
  }
}
