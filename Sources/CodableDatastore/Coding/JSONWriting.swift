import StrataDocuments
import StrataFoundation

struct JSONOutput: ~Copyable {
  private(set) var bytes: UnsafeMutablePointer<UInt8>
  private(set) var count = 0
  private var capacity: Int

  init() {
    capacity = 512
    bytes = .allocate(capacity: capacity)
  }

  deinit { bytes.deallocate() }

  /// Makes room for `more` further bytes, which `add` requires.
  @inline(__always)
  mutating func reserve(_ more: Int) {
    if capacity &- count < more { grow(more) }
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    capacity = max(capacity * 2, count + more)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    larger.moveInitialize(from: bytes, count: count)
    bytes.deallocate()
    bytes = larger
  }

  /// Adds a byte for which there is room.
  @inline(__always)
  mutating func add(_ byte: UInt8) {
    bytes[count] = byte
    count &+= 1
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    reserve(1)
    add(byte)
  }

  @inline(__always)
  mutating func append(_ more: UnsafeBufferPointer<UInt8>) {
    guard let start = more.baseAddress else { return }
    reserve(more.count)
    (bytes + count).initialize(from: start, count: more.count)
    count &+= more.count
  }

  /// Forgets the bytes; memory of more than 1 MiB is given back.
  mutating func clear() {
    count = 0
    if capacity > 1 << 20 { self = JSONOutput() }
  }
}

/// One encoding: the values in the order in which they were encoded, and the containers that they belong to.
///
/// `Codable` may fill several containers at a time, and members come in the order of their declaration. So each value is written to
/// `leaves` separately, and the text is assembled at the end, with the members of each object in the order of their names.
///
/// Encoders and containers are small values that refer to an encoding and to the index of an entry or a container.
final class JSONWriting: @unchecked Sendable {
  // `@unchecked`: one call uses it at a time. A coder hands it out, and takes it back only if nothing else refers to it.
  /// A value: that of the whole, a member, or an element.
  struct Entry {
    /// The name of a member, as bytes of `leaves` without escapes.
    var name: Range<Int>
    /// The text of a value other than a container.
    var text = 0..<0
    var content = Content.nothing
    /// The container that it belongs to, or -1.
    var container = -1
    /// The next entry of the same container, or -1.
    var next = -1
    /// The number of the text, or of the list of texts, that the value was encoded from, counted from 1; 0 if it was not kept.
    var kept = 0
  }

  enum Content: Equatable {
    /// Nothing was encoded, which is written as an empty object.
    case nothing, text
    case container(Int)
  }

  struct Container {
    let isObject: Bool
    /// The entry of which this is the value.
    let entry: Int
    let depth: Int
    var first = -1
    var last = -1
    var count = 0
    var isAscending = true
    /// If the order of the elements has no meaning: the number of those that belong together. They are written in the order of their texts.
    var unorderedStep = 0
  }

  /// Lies outside of the object because each access to a variable of an object is checked for exclusivity.
  struct Context: ~Copyable {
    var leaves = JSONOutput()
    var entries: [Entry] = []
    var containers: [Container] = []
    /// Something was encoded that only Foundation's encoder can judge.
    var isUncertain = false
    /// Whether the value will be decoded again.
    var keepsTexts = false
    /// The names with other characters than those of ASCII, by object.
    var wideNames: [Int: Set<String>] = [:]
    var kept = JSONKeptTexts()
  }

  let context: UnsafeMutablePointer<Context>
  private var output = JSONWrittenText()

  init() {
    context = .allocate(capacity: 1)
    context.initialize(to: Context())
  }

  deinit {
    context.deinitialize(count: 1)
    context.deallocate()
  }

  /// Begins with an entry for the whole text.
  ///
  /// - Parameter keepsTexts: Whether the value will be decoded again, by `tokens`.
  func begin(keepsTexts: Bool) {
    context.pointee.leaves.clear()
    // As of leaves and output, much memory is given back.
    let isSmall = context.pointee.entries.capacity <= 1 << 13
    context.pointee.entries.removeAll(keepingCapacity: isSmall)
    context.pointee.containers.removeAll(keepingCapacity: isSmall)
    context.pointee.isUncertain = false
    context.pointee.keepsTexts = keepsTexts
    context.pointee.wideNames.removeAll()
    context.pointee.kept.removeAll()
    output.clear()
    context.pointee.entries.append(Entry(name: 0..<0))
  }

  func end() { context.pointee.kept.removeAll() }

  func text<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    context.pointee.write(entry: 0, to: &output)
    return body(UnsafeBufferPointer(start: output.bytes.bytes, count: output.bytes.count))
  }

  /// The tokens of the text that was handed over; nil if it has to be read for them.
  var tokens: UnsafeMutableBufferPointer<JSONToken>? {
    // The limits for places in a tape, and for its depth.
    guard output.hasTokens, output.bytes.count <= UInt32.max, context.pointee.containers.count <= 200 else {
      return nil
    }
    return UnsafeMutableBufferPointer(start: output.tape.tokens, count: output.tape.count)
  }

  var hasContent: Bool { context.pointee.entries[0].content != .nothing }
}

extension JSONWriting.Context {
  // MARK: Entries

  mutating func element(of list: Int) -> Int { add(JSONWriting.Entry(name: 0..<0), to: list) }

  @inline(__always)
  mutating func member(_ key: some CodingKey, of object: Int) -> Int {
    var name = key.stringValue
    return name.withUTF8 { member($0, of: object) }
  }

  mutating func member(_ name: UnsafeBufferPointer<UInt8>, of object: Int) -> Int {
    if name.contains(where: { $0 >= 0x80 }) {
      let text = String(decoding: name, as: UTF8.self)
      // In Foundation's encoder, names that are equal as texts are one member.
      let known = wideNames[object, default: []].update(with: text)
      if let known, !known.utf8.elementsEqual(text.utf8) { isUncertain = true }
    }
    let start = leaves.count
    leaves.append(name)
    let entry = JSONWriting.Entry(name: start..<leaves.count)
    let last = containers[object].last
    if last >= 0, compare(entries[last].name, entry.name) >= 0 { containers[object].isAscending = false }
    return add(entry, to: object)
  }

  @inline(__always)
  private mutating func add(_ entry: JSONWriting.Entry, to container: Int) -> Int {
    let index = entries.count
    entries.append(entry)
    entries[index].container = container
    let last = containers[container].last
    if last >= 0 { entries[last].next = index } else { containers[container].first = index }
    containers[container].last = index
    containers[container].count &+= 1
    return index
  }

  /// The container of a value. It is made unless the value already is a container of this kind.
  mutating func container(of entry: Int, isObject: Bool) -> Int {
    if case .container(let container) = entries[entry].content, containers[container].isObject == isObject {
      return container
    }
    let outer = entries[entry].container
    let depth = outer < 0 ? 1 : containers[outer].depth + 1
    // Foundation's encoder refuses the depth that its decoder refuses.
    if depth >= 512 { isUncertain = true }
    containers.append(JSONWriting.Container(isObject: isObject, entry: entry, depth: depth))
    entries[entry].content = .container(containers.count - 1)
    entries[entry].kept = 0
    return containers.count - 1
  }

  /// The member of a name, if a container was made for it, or a new one.
  mutating func memberForContainer(_ key: some CodingKey, of object: Int) -> Int {
    var name = key.stringValue
    return name.withUTF8 { name in
      var at = containers[object].first
      while at >= 0 {
        let known = UnsafeBufferPointer(
          start: leaves.bytes + entries[at].name.lowerBound, count: entries[at].name.count)
        if known.elementsEqual(name), case .container = entries[at].content { return at }
        at = entries[at].next
      }
      return member(name, of: object)
    }
  }

  /// The names and positions that lead from the whole to an entry. A type asked for the keys, which only Foundation's encoder keeps.
  mutating func path(to entry: Int) -> [any CodingKey] {
    isUncertain = true
    var (path, entry) = ([any CodingKey](), entry)
    while entries[entry].container >= 0 {
      let container = containers[entries[entry].container]
      path.append(
        container.isObject
          ? JSONKey(stringValue: String(decoding: bytes(entries[entry].name), as: UTF8.self))
          : JSONKey(intValue: position(of: entry, in: container)))
      entry = container.entry
    }
    return path.reversed()
  }

  private borrowing func position(of entry: Int, in list: JSONWriting.Container) -> Int {
    var (at, position) = (list.first, 0)
    while at != entry { (at, position) = (entries[at].next, position + 1) }
    return position
  }

  // MARK: Values

  @inline(__always)
  mutating func write(_ entry: Int, _ body: (inout JSONOutput) -> Void) {
    let start = leaves.count
    body(&leaves)
    entries[entry].text = start..<leaves.count
    entries[entry].content = .text
  }

  mutating func write(_ entry: Int, plain text: String) {
    var text = text
    write(entry) { output in text.withUTF8 { output.append($0) } }
  }

  mutating func write(_ entry: Int, _ text: String, isKept: Bool = true) {
    if keepsTexts, isKept { entries[entry].kept = kept.keep(text) }
    var text = text
    write(entry) { output in text.withUTF8 { JSONEscapes.append($0, to: &output) } }
  }

  mutating func write(_ entry: Int, integer value: some FixedWidthInteger) {
    guard let small = Int64(exactly: value) else { return write(entry, plain: String(value)) }
    write(entry) { output in
      output.reserve(20)
      if small < 0 { output.add(UInt8(ascii: "-")) }
      var (rest, divisor) = (small.magnitude, 1 as UInt64)
      while rest / divisor >= 10 { divisor &*= 10 }
      while divisor > 0 {
        output.add(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest / divisor))
        rest %= divisor
        divisor /= 10
      }
    }
  }

  /// Writes the shortest digits that determine the number, without the fraction `.0`.
  mutating func write(_ entry: Int, number value: some BinaryFloatingPoint & LosslessStringConvertible) {
    guard value.isFinite else {
      isUncertain = true
      return
    }
    var text = value.description
    write(entry) { output in
      text.withUTF8 { digits in
        let hasFraction =
          digits.count < 3 || digits[digits.count - 1] != UInt8(ascii: "0")
          || digits[digits.count - 2] != UInt8(ascii: ".")
        output.append(hasFraction ? digits : UnsafeBufferPointer(rebasing: digits.dropLast(2)))
      }
    }
  }

  @inline(__always)
  borrowing func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: leaves.bytes + range.lowerBound, count: range.count)
  }

  @inline(__always)
  borrowing func compare(_ first: Range<Int>, _ second: Range<Int>) -> Int {
    var (left, right) = (first.lowerBound, second.lowerBound)
    while left < first.upperBound, right < second.upperBound {
      let (one, other) = (leaves.bytes[left], leaves.bytes[right])
      if one != other { return one < other ? -1 : 1 }
      left &+= 1
      right &+= 1
    }
    return first.count &- second.count
  }
}
