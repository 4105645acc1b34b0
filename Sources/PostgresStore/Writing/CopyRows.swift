/// Rows of the table of what is alive, as COPY takes them.
struct CopyRows {
  static let sql =
    "copy {current} (tree, key, born, inserted, written, kind, payload, value) from stdin (format binary)"

  private(set) var bytes: [UInt8] = []

  /// Adds one of the puts of a chunk, as commit `number` makes it.
  mutating func add(_ put: Int, of chunk: WriteChunk, number: UInt64) {
    let place = chunk.puts[put]
    let born = Int64(bitPattern: number)
    let written = chunk.written[put] ?? 0
    SQLValue.append(Int16(8), to: &bytes)
    add(chunk.trees[place])
    add(chunk.keys[place])
    add(born)
    add(born)
    add(written == 0 ? born : written)
    add(Int16(truncatingIfNeeded: chunk.kinds[put]))
    if let payload = chunk.payloads[put] { add(payload) } else { SQLValue.append(Int32(-1), to: &bytes) }
    if let value = chunk.values[put] { add(value) } else { SQLValue.append(Int32(-1), to: &bytes) }
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
