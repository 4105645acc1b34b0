package import StorageEngine

/// Goes along the entries of an index that refers and the identifiers of what it refers to, together, and stops at each entry
/// that leads nowhere: one ordered merge. No record is read.
///
/// A value is looked for once, however many entries have it. Memory does not grow with either tree.
package struct ReferenceMerge {
  /// How a value of the index tells the key of the record that it names.
  package enum Naming {
    /// It is that key, in byte order; null names none.
    case key
    /// As only the app's types know: the key, or nil where it names none.
    case translated(([UInt8]) throws -> [UInt8]?)
  }

  private var entries: Cursor
  private var targets: Cursor?
  private let order: KeyOrder
  private let naming: Naming
  private var isPlaced = false
  private var entry: [UInt8] = []
  /// The value of the entry, what it names, and whether that is missing.
  private var value: [UInt8]?
  private var sought: [UInt8] = []
  private var isMissing = false
  private var current: [UInt8] = []
  private var isCurrent = false

  /// An entry whose value leads to no record.
  package struct Dangling: Sendable {
    /// The identifier of who refers.
    package var identifier: [UInt8]
    /// The identifier of whom it names.
    package var target: [UInt8]
  }

  /// - Parameters:
  ///   - entries: The index that refers.
  ///   - targets: The records that it refers to; nil where their datastore is not there.
  ///   - order: The order of the targets' identifiers, which is that of the index's values.
  package init(entries: Tree, targets: Tree?, order: KeyOrder, naming: Naming) {
    self.entries = entries.cursor()
    self.targets = targets?.cursor()
    self.order = order
    self.naming = naming
  }

  /// The next entry that leads nowhere, in the order of the index; nil at the end.
  ///
  /// - Throws: What the trees and the translation throw.
  package mutating func next() throws -> Dangling? {
    if isPlaced {
      try entries.next()
    } else {
      isPlaced = true
      try entries.seekToStart()
      try targets?.seekToStart()
    }
    while entries.hasEntry {
      try entries.copyKey(into: &entry)
      guard let identifier = entry.withUnsafeBytes({ EntryKey.identifierRange($0) }) else {
        throw ModelError.unreadable(what: "an entry of an index", where: "its key cannot be taken apart")
      }
      if !isOfSameValue(identifier.lowerBound) {
        value = Array(entry[..<identifier.lowerBound])
        isMissing = try readName() && !hasTarget()
      }
      if isMissing { return Dangling(identifier: Array(entry[identifier]), target: sought) }
      try entries.next()
    }
    return nil
  }

  /// Whether the entry's value, of so many bytes, is that of the entry before.
  private func isOfSameValue(_ length: Int) -> Bool {
    guard let value, value.count == length else { return false }
    return entry.withUnsafeBytes { entry in
      value.withUnsafeBytes { compareKeys(UnsafeRawBufferPointer(rebasing: entry[..<length]), $0) == 0 }
    }
  }

  /// Whether the value names anything.
  private mutating func readName() throws -> Bool {
    guard let value else { return false }
    switch naming {
    case .key:
      sought = value
      return value != [KeyTag.null]
    case .translated(let key):
      guard let key = try key(value) else { return false }
      sought = key
      return true
    }
  }

  private mutating func hasTarget() throws -> Bool {
    while targets?.hasEntry == true {
      if !isCurrent { try targets?.copyKey(into: &current) }
      isCurrent = true
      let place = current.withUnsafeBytes { current in sought.withUnsafeBytes { compareKeys(current, $0) } }
      if place == 0 { return true }
      guard order.isBytes ? place < 0 : order.isBefore(current, sought) else { return false }
      try targets?.next()
      isCurrent = false
    }
    return false
  }
}
