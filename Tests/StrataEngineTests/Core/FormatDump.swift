import StrataEngine

/// Writes a data file out field by field, as FORMAT.md shows one. It knows the format from that document alone and uses nothing
/// of the engine's own reading.
struct FormatDump {
  private let bytes: [UInt8]
  private var position = 0
  private(set) var lines: [String] = []

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The whole file: identity, slots, session, frames.
  static func lines(of bytes: [UInt8]) -> [String] {
    var dump = FormatDump(bytes)
    dump.identity()
    dump.slot(at: 4096)
    dump.slot(at: 8192)
    dump.session()
    dump.position = 16_384
    while dump.position + 64 < bytes.count, bytes[dump.position] == 0x46 { dump.frame() }
    dump.lines.append("")
    dump.lines.append("zeros to the end at \(bytes.count)")
    return dump.lines
  }

  // MARK: Fields

  private mutating func title(_ text: String) { lines.append("\n\(text)") }

  @discardableResult
  private mutating func field(_ count: Int, _ what: String) -> ArraySlice<UInt8> {
    let field = bytes[position..<position + count]
    var rest = field
    var label = what
    repeat {
      let row = rest.prefix(16)
      let hex = row.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
      let offset = String(position + field.count - rest.count)
      let padding = String(repeating: " ", count: max(1, 49 - hex.count))
      lines.append(
        String(repeating: " ", count: max(0, 6 - offset.count)) + offset + "  " + hex
          + (label.isEmpty ? "" : padding + label))
      label = ""
      rest = rest.dropFirst(16)
    } while !rest.isEmpty
    position += count
    return field
  }

  private mutating func number(_ count: Int, _ what: String) -> UInt64 {
    let value = bytes[position..<position + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    field(count, what.isEmpty ? "\(value)" : "\(what): \(value)")
    return value
  }

  private mutating func varint(_ what: String) -> UInt64 {
    var count = 1
    while bytes[position + count - 1] & 0x80 != 0 { count += 1 }
    let value = bytes[position..<position + count].reversed().reduce(0) { $0 << 7 | UInt64($1 & 0x7F) }
    field(count, "\(what): \(value)")
    return value
  }

  private mutating func text(_ what: String) {
    let count = Int(bytes[position])
    let text = String(decoding: bytes[position + 1..<position + 1 + count], as: UTF8.self)
    field(count + 1, "\(what): \(count) bytes, \"\(text)\"")
  }

  private mutating func link(_ what: String) {
    guard bytes[position] != 0 else { return _ = field(1, "\(what): none") }
    let start = position
    var end = position
    var values: [UInt64] = []
    for _ in 0..<3 {
      var value: UInt64 = 0
      var shift: UInt64 = 0
      repeat {
        value |= UInt64(bytes[end] & 0x7F) << shift
        shift += 7
        end += 1
      } while bytes[end - 1] & 0x80 != 0
      values.append(value)
    }
    field(end + 8 - start, "\(what): commit \(values[0]) at \(values[1]), depth \(values[2]), date")
  }

  private func part(_ start: Int, _ count: Int) -> UInt64 {
    bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private mutating func pointer(_ what: String) {
    let isNone = bytes[position..<position + 17].allSatisfy { $0 == 0 }
    field(
      17,
      isNone
        ? "\(what): no node"
        : "\(what): node at \(part(position, 6)), \(part(position + 6, 2)) bytes, check, \(part(position + 12, 5)) entries"
    )
  }

  private mutating func reference(_ what: String) {
    let isNone = bytes[position..<position + 14].allSatisfy { $0 == 0 }
    field(
      14, isNone ? "\(what): none" : "\(what): entry at \(part(position, 6)), \(part(position + 6, 4)) bytes, check")
  }

  // MARK: Pages

  private mutating func identity() {
    title("page 0: identity")
    field(8, "magic")
    _ = number(4, "format version")
    _ = number(4, "page size")
    field(8, "required features")
    field(8, "optional features")
    field(16, "store id")
    _ = number(8, "generation")
    field(8, "date of creation")
    field(8, "seed of checks: the first four bytes")
    _ = number(8, "number of the first commit")
    lines.append("        … zeros")
    position = 508
    field(4, "check")
  }

  private mutating func session() {
    position = 12_800
    title("page 3: session block")
    field(8, "magic")
    field(8, "session")
    field(8, "device")
    field(8, "inode")
    field(8, "origin")
    field(8, "date")
    lines.append("        … zeros")
    position = 13_308
    field(4, "check")
  }

  private mutating func slot(at offset: Int) {
    position = offset
    title("slot at \(offset)")
    guard bytes[offset] != 0 else { return lines.append("        zeros: not written yet") }
    field(8, "magic")
    _ = number(8, "sequence")
    _ = number(8, "generation")
    _ = number(8, "offset of the newest frame")
    _ = number(8, "its number")
    field(4, "its hash")
    _ = number(4, "flags")
    _ = number(8, "durable end")
    _ = number(8, "end of the zeros written ahead")
    lines.append("        … zeros")
    position = offset + 508
    field(4, "check")
  }

  // MARK: Frames

  private mutating func frame() {
    let start = position
    title("frame of commit \(part(start + 8, 8)): header")
    field(4, "magic")
    field(4, "kind: a commit")
    _ = number(8, "commit number")
    let length = number(8, "length of the frame")
    _ = number(8, "offset of the frame before")
    field(4, "its hash")
    let record = number(4, "length of the record")
    let changes = number(8, "length of the changes")
    let nodes = number(8, "length of the nodes")
    field(4, "check of the record")
    field(4, "check of the header")
    let changesEnd = start + 64 + Int(changes)
    while position < changesEnd { entry() }
    let nodesEnd = changesEnd + Int(nodes)
    while position < nodesEnd { node() }
    self.record()
    precondition(position == nodesEnd + Int(record), "the record has fields that FORMAT.md does not tell of")
    let bodyEnd = start + Int(length) - 16
    if position < bodyEnd { field(bodyEnd - position, "padding") }
    title("trailer")
    field(4, "magic")
    field(4, "hash of the frame")
    _ = number(8, "commit number")
  }

  private mutating func entry() {
    title("change entry")
    let tag = bytes[position]
    field(
      1,
      "tag: " + ["", "put", "delete", "attributes"][Int(tag & 3)] + (tag & 4 != 0 ? ", replaces" : "")
        + (tag & 8 != 0 ? " a delete" : ""))
    _ = varint("distance from the frame's beginning")
    _ = varint("tree")
    let key = varint("length of the key")
    let value = varint("length of the value")
    if tag & 4 != 0 { reference("replaces") }
    if key > 0 { field(Int(key), "key") }
    if value > 0 { field(Int(value), "value") }
  }

  private mutating func node() {
    let form = bytes[position]
    title("node: " + ["", "inner", "leaf of references", "leaf of bare keys", "leaf of mixed payloads"][Int(form)])
    field(1, "form")
    _ = number(1, "level")
    let count = Int(number(2, "cells"))
    let prefix = Int(number(2, "length of the prefix"))
    let ends = (0..<count).map { Int(part(position + 2 * $0, 2)) }
    field(2 * count, "ends of the cells")
    if prefix > 0 { field(prefix, "prefix") }
    let heap = position
    for (index, end) in ends.enumerated() {
      let cellEnd = heap + end
      switch form {
      case 1: pointer("cell \(index): child")
      case 2: reference("cell \(index)")
      case 4:
        let kind = bytes[position]
        field(1, "cell \(index): " + ["nothing", "reference", "bytes"][Int(kind)])
        if kind == 1 { reference("refers to") }
        if kind == 2 { payload(Int(bytes[position]) + 1) }
      default: break
      }
      if position < cellEnd { field(cellEnd - position, "rest of the key") }
    }
  }

  /// What the catalog, or the names tree, holds for a name.
  private mutating func payload(_ count: Int) {
    _ = number(1, "length less one")
    let end = position + count
    guard count != 16 else {
      _ = number(8, "commit")
      _ = number(8, "offset of its frame")
      return
    }
    _ = varint("tree")
    _ = number(1, "kind")
    _ = number(1, "order")
    pointer("root")
    pointer("gone")
    reference("attributes")
    _ = varint("bytes of nodes")
    _ = varint("bytes of entries")
    precondition(position == end, "a catalog entry has fields that FORMAT.md does not tell of")
  }

  private mutating func record() {
    title("record")
    _ = number(1, "version of the record")
    _ = varint("commit number")
    field(8, "origin")
    _ = varint("number there")
    field(8, "date")
    _ = varint("flags")
    _ = varint("undoes")
    _ = varint("restores")
    let parents = number(1, "parents")
    for _ in 0..<parents { link("parent") }
    for what in [
      "jump", "parent's jump", "order jump", "order jump of the frame before", "frame before", "last restore", "head",
    ] {
      link(what)
    }
    pointer("catalog")
    pointer("names")
    _ = varint("next free tree identifier")
    _ = varint("live bytes")
    _ = varint("bytes made dead, zigzag")
    text("program")
    text("author")
    text("action")
    for _ in 0..<varint("names set") {
      text("name")
      _ = varint("commit")
    }
    for _ in 0..<varint("trees changed") {
      _ = varint("tree")
      text("tree's name")
      _ = varint("inserted")
      _ = varint("updated")
      _ = varint("deleted")
    }
    for _ in 0..<varint("superseded entries") { _ = varint("distance") }
    field(1, "no pedigree")
    field(1, "tag: bytes before the frame that were not durable yet")
    _ = varint("so many")
  }

  // MARK: Back again

  /// The file that a dump shows.
  static func bytes(of lines: [String]) -> [UInt8] {
    var bytes: [UInt8] = []
    for line in lines {
      if line.hasPrefix("zeros to the end at ") {
        let end = Int(line.dropFirst("zeros to the end at ".count)) ?? 0
        bytes += [UInt8](repeating: 0, count: max(0, end - bytes.count))
        continue
      }
      // Offset, two spaces, and up to sixteen bytes, each of two digits and a space.
      guard line.count > 8, let offset = Int(line.prefix(6).drop { $0 == " " }) else { continue }
      bytes += [UInt8](repeating: 0, count: max(0, offset - bytes.count))
      for pair in line.dropFirst(8).prefix(47).split(separator: " ", omittingEmptySubsequences: false) {
        guard pair.count == 2, let byte = UInt8(pair, radix: 16) else { break }
        bytes.append(byte)
      }
    }
    return bytes
  }
}
