/// Property lists in their binary form, as Foundation's `PropertyListEncoder` writes them.
///
/// ```
/// "bplist00"
/// objects   one marker byte each, kind in the upper half, count or log₂ of the size in the lower (F: an integer follows)
///           00 null  08 false  09 true  1n integer of 2ⁿ bytes  2n real  33 date  4n data  5n ASCII  6n UTF-16  8n UID
///           An list of references  Dn dictionary: references of n keys, then of n values
/// offsets   of each object, big-endian
/// trailer   32 bytes: 6 unused, size of an offset, size of a reference, number of objects, top object, place of offsets
/// ```
///
/// The text `$null`, which Swift's coders write for nil, is null here.
enum BinaryPropertyList {
  static let header: [UInt8] = Array("bplist00".utf8)

  static func document(of bytes: [UInt8]) throws(DocumentError) -> Document {
    var reader = try BinaryPropertyListReader(bytes)
    return try reader.top()
  }

  static func bytes(of document: Document) throws(DocumentError) -> [UInt8] {
    var writer = BinaryPropertyListWriter()
    return try writer.list(of: document)
  }
}

extension NumberText {
  /// Throws if a property list would hold it as a real that is far from it: an integer of too many digits is not rounded.
  func requireReal() throws(DocumentError) {
    guard !isInteger, double.isFinite || !isFinite else {
      throw .refused(reason: "a property list cannot hold the number \(text)")
    }
  }
}

// MARK: - Reading

private struct BinaryPropertyListReader {
  private let bytes: [UInt8]
  private let offsetSize: Int
  private let referenceSize: Int
  private let count: Int
  private let topObject: Int
  private let table: Int
  /// Several references may name one object, so a small file could describe an enormous tree; the file's size limits the reading.
  private var budget: Int
  /// Long texts and data by their places: they are in memory once, however often they are referred to.
  private var long: [Int: Document] = [:]
  private static let longContent = 64

  init(_ bytes: [UInt8]) throws(DocumentError) {
    guard bytes.count >= 40, bytes.starts(with: BinaryPropertyList.header.dropLast(2)) else {
      throw Self.damaged("it is too short", at: 0)
    }
    let trailer = bytes.count - 32
    let numbers = (0..<3).map { Self.number(bytes, at: trailer + 8 + 8 * $0, size: 8) }
    self.bytes = bytes
    offsetSize = Int(bytes[trailer + 6])
    referenceSize = Int(bytes[trailer + 7])
    guard 1...8 ~= offsetSize, 1...8 ~= referenceSize, let count = numbers[0], let topObject = numbers[1],
      let table = numbers[2], count > 0, topObject < count, 8...trailer ~= table,
      count <= (trailer - table) / offsetSize
    else { throw Self.damaged("its trailer makes no sense", at: trailer) }
    (self.count, self.topObject, self.table) = (count, topObject, table)
    budget = 16 * bytes.count + 1024
  }

  mutating func top() throws(DocumentError) -> Document { try object(topObject, depth: 0) }

  private mutating func object(_ reference: Int, depth: Int) throws(DocumentError) -> Document {
    guard depth <= JSONParser.depthLimit else { throw Self.damaged("it is nested too deep", at: 0) }
    guard let offset = Self.number(bytes, at: table + reference * offsetSize, size: offsetSize), 8..<table ~= offset
    else {
      throw Self.damaged("object \(reference) lies outside", at: table + reference * offsetSize)
    }
    let kind = bytes[offset] >> 4
    let size = Int(bytes[offset] & 15)
    switch kind {
    case 0x0 where size == 0: return .null
    case 0x0 where size == 8: return .bool(false)
    case 0x0 where size == 9: return .bool(true)
    case 0x1: return try integer(size: 1 << min(size, 5), at: offset)
    case 0x2: return try real(size: 1 << min(size, 5), at: offset)
    case 0x3:
      guard size == 3, let bits = bits(at: offset + 1, size: 8) else { throw Self.damaged("a date is cut", at: offset) }
      return .date(Double(bitPattern: bits))
    case 0x4, 0x5, 0x6: return try content(kind, at: offset)
    case 0x8:
      guard let value = Self.number(bytes, at: offset + 1, size: size + 1) else {
        throw Self.damaged("a UID is cut", at: offset)
      }
      return .object([Document.Member("CF$UID", .number(NumberText(value)))])
    case 0xA, 0xB, 0xC: return .array(try objects(of: content(of: offset, unit: referenceSize), depth: depth))
    case 0xD: return try dictionary(at: offset, depth: depth)
    default: throw Self.damaged("an object of unknown kind", at: offset)
    }
  }

  private func integer(size: Int, at offset: Int) throws(DocumentError) -> Document {
    switch size {
    case 1, 2, 4, 8:
      guard let bits = bits(at: offset + 1, size: size) else { break }
      return .number(size == 8 ? NumberText(Int64(bitPattern: bits)) : NumberText(bits))
    case 16:
      guard let high = bits(at: offset + 1, size: 8), let low = bits(at: offset + 9, size: 8) else { break }
      return .number(NumberText(Int128(bitPattern: UInt128(high) << 64 | UInt128(low))))
    default: break
    }
    throw Self.damaged("an integer is cut", at: offset)
  }

  private func real(size: Int, at offset: Int) throws(DocumentError) -> Document {
    guard size == 4 || size == 8, let bits = bits(at: offset + 1, size: size) else {
      throw Self.damaged("a number is cut", at: offset)
    }
    let value = size == 4 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
    return .number(NumberText(value))
  }

  /// Data or a text.
  private mutating func content(_ kind: UInt8, at offset: Int) throws(DocumentError) -> Document {
    if let known = long[offset] { return known }
    let range = try content(of: offset, unit: kind == 0x6 ? 2 : 1)
    let document: Document =
      switch kind {
      case 0x4: .data(Array(bytes[range]))
      case 0x5: Self.text(String(decoding: bytes[range], as: UTF8.self))
      default: Self.text(utf16(range))
      }
    if range.count > Self.longContent { long[offset] = document }
    return document
  }

  private static func text(_ text: String) -> Document { text == "$null" ? .null : .string(text) }

  private func utf16(_ range: Range<Int>) -> String {
    let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map {
      UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
    }
    return String(decoding: units, as: UTF16.self)
  }

  private mutating func dictionary(at offset: Int, depth: Int) throws(DocumentError) -> Document {
    let references = try content(of: offset, unit: 2 * referenceSize)
    let middle = references.lowerBound + references.count / 2
    let names = try objects(of: references.lowerBound..<middle, depth: depth)
    let values = try objects(of: middle..<references.upperBound, depth: depth)
    var members: [Document.Member] = []
    members.reserveCapacity(names.count)
    for (name, value) in zip(names, values) {
      switch name {
      case .string(let name): members.append(Document.Member(name, value))
      case .null: members.append(Document.Member("$null", value))
      default: throw Self.damaged("a key is not text", at: offset)
      }
    }
    return .object(members)
  }

  private mutating func objects(of references: Range<Int>, depth: Int) throws(DocumentError) -> [Document] {
    budget -= references.count / referenceSize + 1
    guard budget > 0 else { throw Self.damaged("it names its own parts too often", at: references.lowerBound) }
    var objects: [Document] = []
    for index in stride(from: references.lowerBound, to: references.upperBound, by: referenceSize) {
      guard let reference = Self.number(bytes, at: index, size: referenceSize), reference < count else {
        throw Self.damaged("a reference to nothing", at: index)
      }
      objects.append(try object(reference, depth: depth + 1))
    }
    return objects
  }

  /// The place of the content of an object that has a count of units.
  private func content(of offset: Int, unit: Int) throws(DocumentError) -> Range<Int> {
    var start = offset + 1
    var units = Int(bytes[offset] & 15)
    if units == 15 {
      guard start < table, bytes[start] >> 4 == 1, case let size = 1 << Int(bytes[start] & 15), size <= 8,
        let number = Self.number(bytes, at: start + 1, size: size)
      else { throw Self.damaged("a count is cut", at: start) }
      start += 1 + size
      units = number
    }
    guard start <= table, units <= (table - start) / unit else { throw Self.damaged("an object is cut", at: offset) }
    return start..<(start + units * unit)
  }

  private func bits(at offset: Int, size: Int) -> UInt64? {
    guard offset + size <= table else { return nil }
    return bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func number(_ bytes: [UInt8], at offset: Int, size: Int) -> Int? {
    guard offset >= 0, size <= bytes.count, offset <= bytes.count - size else { return nil }
    return Int(exactly: bytes[offset..<(offset + size)].reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
  }

  private static func damaged(_ reason: String, at offset: Int) -> DocumentError {
    .unreadable(what: "the property list", where: "\(reason) (byte \(offset))")
  }
}

// MARK: - Writing

private struct BinaryPropertyListWriter {
  /// An object after its parts have got their numbers.
  private enum Object {
    case leaf(Document)
    case array([Int])
    case dictionary(keys: [Int], values: [Int])
  }

  private var objects: [Object] = []
  private var texts: [[UInt8]: Int] = [:]
  private var bytes = BinaryPropertyList.header

  mutating func list(of document: Document) throws(DocumentError) -> [UInt8] {
    let top = try number(document, depth: 0)
    let referenceSize = Self.size(of: UInt64(objects.count))
    var offsets: [Int] = []
    for object in objects {
      offsets.append(bytes.count)
      append(object, referenceSize: referenceSize)
    }
    let table = bytes.count
    let offsetSize = Self.size(of: UInt64(table))
    for offset in offsets { append(UInt64(offset), size: offsetSize) }
    bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
    for number in [objects.count, top, table] { append(UInt64(number), size: 8) }
    return bytes
  }

  private mutating func number(_ document: Document, depth: Int) throws(DocumentError) -> Int {
    guard depth <= JSONParser.depthLimit else { throw .refused(reason: "nested deeper than \(JSONParser.depthLimit)") }
    switch document {
    case .null: return text("$null")
    case .string(let text): return self.text(text)
    case .array(let elements):
      let index = reserve()
      var references: [Int] = []
      for element in elements { references.append(try number(element, depth: depth + 1)) }
      objects[index] = .array(references)
      return index
    case .object(let members):
      let index = reserve()
      let members = members.lastOfEachName
      let keys = members.map { text($0.name) }
      var values: [Int] = []
      for member in members { values.append(try number(member.value, depth: depth + 1)) }
      objects[index] = .dictionary(keys: keys, values: values)
      return index
    default:
      if case .number(let value) = document, Int128(value.text) == nil { try value.requireReal() }
      let index = reserve()
      objects[index] = .leaf(document)
      return index
    }
  }

  private mutating func reserve() -> Int {
    objects.append(.array([]))
    return objects.count - 1
  }

  private mutating func text(_ text: String) -> Int {
    let key = Array(text.utf8)
    if let index = texts[key] { return index }
    let index = reserve()
    objects[index] = .leaf(.string(text))
    texts[key] = index
    return index
  }

  private mutating func append(_ object: Object, referenceSize: Int) {
    switch object {
    case .leaf(let document): append(leaf: document)
    case .array(let references):
      appendMarker(0xA0, count: references.count)
      for reference in references { append(UInt64(reference), size: referenceSize) }
    case .dictionary(let keys, let values):
      appendMarker(0xD0, count: keys.count)
      for reference in keys + values { append(UInt64(reference), size: referenceSize) }
    }
  }

  private mutating func append(leaf: Document) {
    switch leaf {
    case .bool(let value): bytes.append(value ? 9 : 8)
    case .number(let value): append(value)
    case .date(let value):
      bytes.append(0x33)
      append(value.bitPattern, size: 8)
    case .data(let data):
      appendMarker(0x40, count: data.count)
      bytes += data
    case .string(let text):
      if text.utf8.allSatisfy({ $0 < 0x80 }) {
        appendMarker(0x50, count: text.utf8.count)
        bytes += text.utf8
      } else {
        appendMarker(0x60, count: text.utf16.count)
        for unit in text.utf16 { append(UInt64(unit), size: 2) }
      }
    case .null, .array, .object: break
    }
  }

  private mutating func append(_ number: NumberText) {
    if let value = number.integer {
      let size = value < 0 ? 8 : Self.size(of: UInt64(value))
      bytes.append(0x10 | UInt8(size.trailingZeroBitCount))
      append(UInt64(bitPattern: value), size: size)
    } else if let value = Int128(number.text) {
      bytes.append(0x14)
      append(UInt64(truncatingIfNeeded: value >> 64), size: 8)
      append(UInt64(truncatingIfNeeded: value), size: 8)
    } else {
      bytes.append(0x23)
      append(number.double.bitPattern, size: 8)
    }
  }

  private mutating func appendMarker(_ kind: UInt8, count: Int) {
    guard count >= 15 else { return bytes.append(kind | UInt8(count)) }
    bytes.append(kind | 15)
    let size = Self.size(of: UInt64(count))
    bytes.append(0x10 | UInt8(size.trailingZeroBitCount))
    append(UInt64(count), size: size)
  }

  private mutating func append(_ value: UInt64, size: Int) {
    for index in (0..<size).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
  }

  /// 1, 2, 4 or 8 bytes.
  private static func size(of value: UInt64) -> Int {
    value <= 0xFF ? 1 : value <= 0xFFFF ? 2 : value <= 0xFFFF_FFFF ? 4 : 8
  }
}
