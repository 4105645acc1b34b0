import StrataEngine
import Synchronization

/// Our engine: a records tree and two entries trees, every commit synced, every check on.
final class StrataContender: Contender, Sendable {
  static let name = "Strata"

  static let records = TreeName(Array("records".utf8))
  private static let authors = TreeName(Array("authors".utf8))
  private static let years = TreeName(Array("years".utf8))

  let store: FileStore
  private let path: String
  /// The tree of records as of the newest commit, as LMDB keeps a handle of its database.
  private let newestRecords = Mutex<(commit: UInt64, tree: Tree)?>(nil)

  convenience init(folder: String) throws { try self.init(folder: folder, writesDeltas: true) }

  init(folder: String, writesDeltas: Bool) throws {
    path = folder + "/bench.strata"
    var options = StoreOptions(program: "bench")
    options.writesDeltas = writesDeltas
    store = try FileStore.create(at: path, options: options, disk: SystemDisk())
    let transaction = try store.beginBlocking()
    try transaction.createTree(Self.records, kind: .records, attributes: [])
    try transaction.createTree(Self.authors, kind: .entries, attributes: [])
    try transaction.createTree(Self.years, kind: .entries, attributes: [])
    try transaction.commit(CommitInfo(action: "create"))?.wait()
  }

  /// A store that is there already.
  init(opening folder: String) throws {
    path = folder + "/bench.strata"
    store = try FileStore.open(at: path, options: StoreOptions(program: "bench"), disk: SystemDisk())
  }

  func insertAll(_ records: [BenchRecord]) throws {
    let transaction = try store.beginBlocking()
    for record in records { try put(record, in: transaction) }
    try transaction.commit(CommitInfo(action: "insert"))?.wait()
  }

  func insert(_ record: BenchRecord) throws {
    _ = try store.write(CommitInfo(action: "insert")) { try put(record, in: $0) }.get()
  }

  func insert(_ record: BenchRecord, durability: Durability) throws {
    let transaction = try store.beginBlocking()
    try put(record, in: transaction)
    let pending = try transaction.commit(CommitInfo(action: "insert", durability: durability))
    if durability == .durable { try pending?.wait() }
  }

  /// A record in the place of another one, with other values in both indexes.
  func update(_ change: (old: BenchRecord, new: BenchRecord), durability: Durability) throws {
    let transaction = try store.beginBlocking()
    try transaction.remove(change.old.authorKey, in: Self.authors)
    try transaction.remove(change.old.yearKey, in: Self.years)
    try put(change.new, in: transaction)
    let pending = try transaction.commit(CommitInfo(action: "update", durability: durability))
    if durability == .durable { try pending?.wait() }
  }

  func put(_ record: BenchRecord, in transaction: some WriteTransaction) throws {
    try transaction.put(record.identifierKey, record.value, in: Self.records)
    try transaction.insert(record.authorKey, .none, in: Self.authors)
    try transaction.insert(record.yearKey, .none, in: Self.years)
  }

  func read(_ identifier: UInt64) throws -> Int {
    try length(of: identifier.bigEndianBytes, in: try records(of: store.head))
  }

  private func records(of view: View) throws -> Tree {
    let number = view.number
    if let known = newestRecords.withLock({ $0 }), known.commit == number { return known.tree }
    guard let tree = try view.tree(Self.records) else { throw ContenderError(description: "no records") }
    newestRecords.withLock { $0 = (number, tree) }
    return tree
  }

  func scan() throws -> Int {
    guard let tree = try store.head.tree(Self.records) else { throw ContenderError(description: "no records") }
    var cursor = tree.cursor()
    try cursor.seek(rank: 0)
    var sum = 0
    while let payload = cursor.currentPayload {
      if let record = payload.record { sum &+= touched(try tree.value(of: record)) }
      try cursor.next()
    }
    return sum
  }

  func range(from author: [UInt8], limit: Int) throws -> Int {
    let view = store.head
    guard let index = try view.tree(Self.authors), let records = try view.tree(Self.records) else {
      throw ContenderError(description: "no index")
    }
    var cursor = index.cursor()
    try cursor.seek(to: .bytes(author))
    var (sum, count) = (0, 0)
    var (key, identifier) = ([UInt8](), [UInt8]())
    while count < limit, cursor.hasEntry {
      try cursor.copyKey(into: &key)
      identifier.removeAll(keepingCapacity: true)
      identifier.append(contentsOf: key.suffix(8))
      sum &+= try length(of: identifier, in: records)
      count += 1
      try cursor.next()
    }
    return sum
  }

  func fileBytes() throws -> Int { try sizeOfFiles(in: path) }

  private func length(of identifier: [UInt8], in tree: Tree) throws -> Int {
    guard let record = try tree.payload(.bytes(identifier))?.record else {
      throw ContenderError(description: "a record is missing")
    }
    return touched(try tree.value(of: record))
  }

  private func touched(_ value: Bytes) -> Int {
    value.withUnsafeBytes { $0.count &+ Int($0.last ?? 0) }
  }
}
