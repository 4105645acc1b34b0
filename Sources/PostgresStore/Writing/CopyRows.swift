import StorageEngine

/// Rows of the table of what is alive, sent as COPY takes them.
struct CopyRows {
  private static let sql =
    "copy {current} (tree, key, born, inserted, written, kind, payload, value) from stdin (format binary)"
  /// So many bytes are sent at a time: the server works on them while the next are made.
  private static let mostBytes = 1 << 16
  private static let mostValueBytes = 4 << 20

  private let connection: Connection
  private let tables: Tables
  private var bytes: [UInt8] = []
  private var values = LongValues()
  /// Whether a copy is open.
  private var copies = false

  init(_ connection: Connection, _ tables: Tables) {
    (self.connection, self.tables) = (connection, tables)
    bytes.reserveCapacity(Self.mostBytes + 4_096)
  }

  /// Adds one of the puts of commit `number`, and sends what there is where that is much.
  ///
  /// - Parameter isFirst: whether the tree is made by the same commit, and none had its number before.
  mutating func add(_ write: DraftWrite, number: UInt64, isFirst: Bool) throws(StorageError) {
    guard let payload = write.write.payload else { return }
    let born = Int64(bitPattern: number)
    var written = write.write.written.map { Int64(bitPattern: $0) } ?? 0
    var kind: Int16 = 0
    var content: [UInt8]?
    var value: Int64?
    switch payload {
    case .none: break
    case .record(let writer): (kind, written) = (2, Int64(bitPattern: writer))
    case .bytes(let bytes):
      kind = 1
      if bytes.count > ServerLimits.inlinePayload { value = values.add(bytes) } else { content = bytes }
    }
    SQLValue.append(Int16(8), to: &bytes)
    add(write.place.tree)
    add(write.place.key)
    add(born)
    add(isFirst ? 0 : born)
    add(written == 0 ? born : written)
    add(kind)
    if let content { add(content) } else { SQLValue.append(Int32(-1), to: &bytes) }
    if let value { add(value) } else { SQLValue.append(Int32(-1), to: &bytes) }
    if bytes.count >= Self.mostBytes || values.count >= Self.mostValueBytes { try send() }
  }

  /// Sends the rest, and ends the copy.
  mutating func finish() throws(StorageError) {
    try send()
    if copies { try connection.endCopy() }
  }

  /// Sends them over a copy that is open, or opens one; values that lie in a table of their own go ahead.
  private mutating func send() throws(StorageError) {
    if let part = values.part {
      if copies { try connection.endCopy() }
      copies = false
      try connection.exchange([Flush.writing([part], count: 1, tables)])
      values = LongValues()
    }
    guard !bytes.isEmpty else { return }
    if !copies { try connection.beginCopy(tables.sql(Self.sql)) }
    copies = true
    try connection.put(bytes)
    bytes.removeAll(keepingCapacity: true)
  }

  private mutating func add(_ value: some FixedWidthInteger) {
    SQLValue.append(Int32(value.bitWidth / 8), to: &bytes)
    SQLValue.append(value, to: &bytes)
  }

  private mutating func add(_ value: [UInt8]) {
    SQLValue.append(Int32(value.count), to: &bytes)
    bytes += value
  }
}

/// Payloads that lie in a table of their own.
struct LongValues {
  private var numbers: [Int64] = []
  private var payloads: [[UInt8]] = []
  /// Bytes of all of them.
  private(set) var count = 0

  /// Adds one; the number by which it is referred to.
  mutating func add(_ payload: [UInt8]) -> Int64 {
    let number = Int64.random(in: 1...Int64.max)
    numbers.append(number)
    payloads.append(payload)
    count += payload.count
    return number
  }

  /// What writes them; nil where there are none.
  var part: StatementPart? {
    guard !numbers.isEmpty else { return nil }
    return StatementPart("long", [.ints(numbers), .byteArrays(payloads)]) { p in
      "insert into {value} (number, bytes) select * from unnest(\(p(1))::bigint[], \(p(2))::bytea[])"
    }
  }
}

extension Flush {
  /// Fewer entries are written like all others.
  private static let countToCopy = 2_000

  /// New trees of many entries: nobody else has anything there, so they are filled by COPY.
  var copiedTrees: Set<Int32> {
    guard drafts.count == 1, !drafts[0].treeChanges.isEmpty, drafts[0].writes.count >= Self.countToCopy else {
      return []
    }
    return drafts[0].newTrees
  }

  /// Fills the new trees, as commit `number` makes them. The transaction of the server was begun, and stays open.
  func copy(over connection: Connection, number: UInt64) throws(StorageError) {
    let copied = copiedTrees
    let known = drafts[0].treesAgain
    var rows = CopyRows(connection, tables)
    for write in drafts[0].writes where copied.contains(write.place.tree) {
      try rows.add(write, number: number, isFirst: !known.contains(write.place.tree))
    }
    try rows.finish()
  }
}
