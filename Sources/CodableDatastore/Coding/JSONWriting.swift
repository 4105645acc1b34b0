#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Bytes that grow at their end.
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
/// `leaves` by itself, and the text is put together at the end, with the members of each object in the order of their names.
///
/// Encoders and containers are small values that refer to an encoding and to the index of an entry or a container.
final class JSONWriting: @unchecked Sendable {
  // `@unchecked`: one call uses it at a time. A coder hands it out, and takes it back only if nothing else refers to it.
  /// A value: that of the whole, a member, or an element.
  struct Entry {
    /// The name of a member, as bytes of `leaves` without escapes.
    var name: Range<Int>
    /// The text of a value that is no container.
    var text = 0..<0
    /// What the value is.
    var content = Content.nothing
    /// The container that it belongs to, or -1.
    var container = -1
    /// The next entry of the same container, or -1.
    var next = -1
  }

  enum Content: Equatable {
    /// Nothing was encoded, which is written as an empty object.
    case nothing, text
    case container(Int)
  }

  struct Container {
    let isObject: Bool
    /// The entry whose value it is.
    let entry: Int
    var first = -1
    var last = -1
    var count = 0
    /// The members' names are strictly ascending.
    var isAscending = true
    /// If the order of the elements has no meaning: how many of them belong together. They are written in the order of their texts.
    var unorderedStep = 0
  }

  /// Lies outside of the object because each access to a variable of an object is checked for exclusivity.
  struct Context: ~Copyable {
    var leaves = JSONOutput()
    var entries: [Entry] = []
    var containers: [Container] = []
    /// Something was encoded that only Foundation's encoder can judge.
    var isUncertain = false
  }

  let context: UnsafeMutablePointer<Context>
  private var output = JSONOutput()

  init() {
    context = .allocate(capacity: 1)
    context.initialize(to: Context())
  }

  deinit {
    context.deinitialize(count: 1)
    context.deallocate()
  }

  /// Begins with an entry for the whole text.
  func begin() {
    context.pointee.leaves.clear()
    context.pointee.entries.removeAll(keepingCapacity: true)
    context.pointee.containers.removeAll(keepingCapacity: true)
    context.pointee.isUncertain = false
    output.clear()
    context.pointee.entries.append(Entry(name: 0..<0))
  }

  /// Hands over the whole text.
  func text<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    context.pointee.write(entry: 0, to: &output)
    return body(UnsafeBufferPointer(start: output.bytes, count: output.count))
  }

  /// Whether anything was encoded.
  var hasContent: Bool { context.pointee.entries[0].content != .nothing }
}

extension JSONWriting.Context {
  // MARK: Entries

  /// Adds an element to a list.
  mutating func element(of list: Int) -> Int { add(JSONWriting.Entry(name: 0..<0), to: list) }

  /// Adds a member to an object.
  @inline(__always)
  mutating func member(_ key: some CodingKey, of object: Int) -> Int {
    var name = key.stringValue
    return name.withUTF8 { member($0, of: object) }
  }

  mutating func member(_ name: UnsafeBufferPointer<UInt8>, of object: Int) -> Int {
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

  /// The container that is a value, which is made unless the value is one of this kind already.
  mutating func container(of entry: Int, isObject: Bool) -> Int {
    if case .container(let container) = entries[entry].content, containers[container].isObject == isObject {
      return container
    }
    containers.append(JSONWriting.Container(isObject: isObject, entry: entry))
    entries[entry].content = .container(containers.count - 1)
    return containers.count - 1
  }

  /// The member of a name that a container was made for, or a new one.
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

  /// The names and positions that lead from the whole to an entry.
  borrowing func path(to entry: Int) -> [any CodingKey] {
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

  /// Writes the text of a value.
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

  mutating func write(_ entry: Int, _ text: String) {
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

  /// The shortest digits that give the number back, without the fraction `.0`.
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

  // MARK: The text

  fileprivate borrowing func write(entry: Int, to output: inout JSONOutput) {
    switch entries[entry].content {
    case .nothing:
      output.append(UInt8(ascii: "{"))
      output.append(UInt8(ascii: "}"))
    case .text: output.append(bytes(entries[entry].text))
    case .container(let index):
      let container = containers[index]
      output.append(container.isObject ? UInt8(ascii: "{") : UInt8(ascii: "["))
      if container.isObject {
        writeMembers(of: container, to: &output)
      } else if container.unorderedStep > 0 {
        writeUnordered(container, to: &output)
      } else {
        var at = container.first
        while at >= 0 {
          if at != container.first { output.append(UInt8(ascii: ",")) }
          write(entry: at, to: &output)
          at = entries[at].next
        }
      }
      output.append(container.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
    }
  }

  private borrowing func writeMembers(of object: JSONWriting.Container, to output: inout JSONOutput) {
    if object.isAscending {
      var at = object.first
      while at >= 0 {
        writeMember(at, isFirst: at == object.first, to: &output)
        at = entries[at].next
      }
      return
    }
    withUnsafeTemporaryAllocation(of: Int.self, capacity: object.count) { sorted in
      var (at, count) = (object.first, 0)
      while at >= 0 {
        insert(at, into: sorted, count: &count)
        at = entries[at].next
      }
      for position in 0..<count { writeMember(sorted[position], isFirst: position == 0, to: &output) }
    }
  }

  /// Inserts a member among those before it, which are sorted by name. It replaces one of the same name.
  private borrowing func insert(_ entry: Int, into sorted: UnsafeMutableBufferPointer<Int>, count: inout Int) {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      let order = compare(entries[sorted[middle]].name, entries[entry].name)
      if order == 0 {
        sorted[middle] = entry
        return
      }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    for position in stride(from: count, to: low, by: -1) { sorted[position] = sorted[position - 1] }
    sorted[low] = entry
    count += 1
  }

  private borrowing func writeMember(_ entry: Int, isFirst: Bool, to output: inout JSONOutput) {
    if !isFirst { output.append(UInt8(ascii: ",")) }
    JSONEscapes.append(bytes(entries[entry].name), to: &output)
    output.append(UInt8(ascii: ":"))
    write(entry: entry, to: &output)
  }

  /// Writes the elements, or groups of them, in the order of their texts, so that equal values have equal texts in every process.
  private borrowing func writeUnordered(_ list: JSONWriting.Container, to output: inout JSONOutput) {
    var texts: [[UInt8]] = []
    var part = JSONOutput()
    var (at, position) = (list.first, 0)
    while at >= 0 {
      if position % list.unorderedStep > 0 { part.append(UInt8(ascii: ",")) }
      write(entry: at, to: &part)
      (at, position) = (entries[at].next, position + 1)
      guard position % list.unorderedStep == 0 || at < 0 else { continue }
      texts.append(Array(UnsafeBufferPointer(start: part.bytes, count: part.count)))
      part.clear()
    }
    texts.sort { $0.lexicographicallyPrecedes($1) }
    for (index, text) in texts.enumerated() {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      text.withUnsafeBufferPointer { output.append($0) }
    }
  }

  @inline(__always)
  private borrowing func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: leaves.bytes + range.lowerBound, count: range.count)
  }

  @inline(__always)
  private borrowing func compare(_ first: Range<Int>, _ second: Range<Int>) -> Int {
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
