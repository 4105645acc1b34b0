import StrataEngine

/// Rows of the table of living entries, in the format of COPY.
struct CopyRows {
  private static let sql =
    "copy {current} (tree, key, born, inserted, written, kind, payload, value) from stdin (format binary)"
  /// The bytes that are sent at a time: the server works on them while the next are made.
  private static let mostBytes = 1 << 16
  private static let mostValueBytes = 4 << 20

  private let connection: Connection
  private let tables: Tables
  private var bytes: [UInt8] = []
  private var values = LongValues()
  private var copies = false

  init(_ connection: Connection, _ tables: Tables) {
    (self.connection, self.tables) = (connection, tables)
    bytes.reserveCapacity(Self.mostBytes + 4_096)
  }

  /// Adds one of the puts of commit `number`, and sends the rows so far if they are many bytes.
  ///
  /// - Parameter isFirst: Whether the same commit makes the tree, and no earlier tree had its number.
  mutating func add(_ write: DraftWrite, number: UInt64, isFirst: Bool) throws(StorageError) {
    guard let put = PayloadColumns(write.write, &values) else { return }
    let born = Int64(bitPattern: number)
    SQLValue.append(Int16(8), to: &bytes)
    add(write.place.tree)
    add(write.place.key)
    add(born)
    add(isFirst ? 0 : born)
    add(put.written == 0 ? born : put.written)
    add(Int16(put.kind))
    if let payload = put.payload { add(payload) } else { SQLValue.append(Int32(-1), to: &bytes) }
    if let value = put.value { add(value) } else { SQLValue.append(Int32(-1), to: &bytes) }
    if bytes.count >= Self.mostBytes || values.count >= Self.mostValueBytes { try send() }
  }

  /// Sends the rest, and ends the copy.
  mutating func finish() throws(StorageError) {
    try send()
    if copies { try connection.endCopy() }
  }

  /// Sends them over a copy that is open, or opens one; values in a table of their own go ahead.
  private mutating func send() throws(StorageError) {
    if let part = values.part {
      if copies { try connection.endCopy() }
      copies = false
      try connection.exchange(Flush.writing([part], count: 1, tables))
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

/// The columns of an entry that a put writes.
struct PayloadColumns {
  var kind: Int32 = 0
  var payload: [UInt8]?
  /// The number of a payload that lies in a table of its own.
  var value: Int64?
  /// The commit that wrote it; 0 means the commit that puts it.
  var written: Int64

  /// Returns nil if nothing is put.
  init?(_ write: KeyWrite, _ values: inout LongValues) {
    guard let payload = write.payload else { return nil }
    written = Int64(bitPattern: write.written ?? 0)
    switch payload {
    case .none: break
    case .record(let writer): (kind, written) = (2, Int64(bitPattern: writer))
    case .bytes(let bytes):
      kind = 1
      if bytes.count > ServerLimits.inlinePayload { value = values.add(bytes) } else { self.payload = bytes }
    }
  }
}

struct LongValues {
  private var numbers: [Int64] = []
  private var payloads: [[UInt8]] = []
  /// Bytes of all of them.
  private(set) var count = 0

  /// Adds one and returns the number that refers to it.
  mutating func add(_ payload: [UInt8]) -> Int64 {
    let number = Int64.random(in: 1...Int64.max)
    numbers.append(number)
    payloads.append(payload)
    count += payload.count
    return number
  }

  /// The part of a statement that writes them; nil if there are none.
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

  /// New trees of many entries: no other transaction has an entry there, so COPY fills them.
  var copiedTrees: Set<Int32> {
    guard drafts.count == 1, !drafts[0].treeChanges.isEmpty, drafts[0].writes.count >= Self.countToCopy else {
      return []
    }
    return drafts[0].newTrees
  }

  /// Fills the new trees, as commit `number` makes them. The transaction of the server must be open, and stays open.
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
