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
  /// The value of the entry before, in memory that is used again for the next, and whether what it names is missing.
  private var value: [UInt8] = []
  private var hasValue = false
  private var isMissing = false
  /// What the value names, where that is not the value itself.
  private var translated: [UInt8] = []
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
        value.removeAll(keepingCapacity: true)
        value.append(contentsOf: entry[..<identifier.lowerBound])
        hasValue = true
        isMissing = try isTargetMissing()
      }
      if isMissing {
        let target = if case .key = naming { value } else { translated }
        return Dangling(identifier: Array(entry[identifier]), target: target)
      }
      try entries.next()
    }
    return nil
  }

  /// Whether the entry's value, of so many bytes, is that of the entry before.
  private func isOfSameValue(_ length: Int) -> Bool {
    guard hasValue, value.count == length else { return false }
    return entry.withUnsafeBytes { entry in
      value.withUnsafeBytes { compareKeys(UnsafeRawBufferPointer(rebasing: entry[..<length]), $0) == 0 }
    }
  }

  /// Whether the value names what is not there.
  private mutating func isTargetMissing() throws -> Bool {
    switch naming {
    case .key:
      if value.count == 1, value[0] == KeyTag.null { return false }
    case .translated(let key):
      guard let key = try key(value) else { return false }
      translated = key
    }
    while targets?.hasEntry == true {
      if !isCurrent { try targets?.copyKey(into: &current) }
      isCurrent = true
      switch placeOfCurrent() {
      case 0: return false
      case 1...: return true
      default: break
      }
      try targets?.next()
      isCurrent = false
    }
    return true
  }

  /// Where the target that the merge stands at lies to the one that is sought: negative before it, 0 where it is the one.
  private func placeOfCurrent() -> Int {
    if case .key = naming {
      return current.withUnsafeBytes { current in value.withUnsafeBytes { compareKeys(current, $0) } }
    }
    if current == translated { return 0 }
    return order.isBefore(current, translated) ? -1 : 1
  }
}
