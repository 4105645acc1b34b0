package import StorageEngine

/// Goes along the entries of an index that refers and the identifiers of what it refers to, together, and stops at each entry
/// that leads nowhere: one ordered merge. No record is read.
///
/// A value is translated and looked for once, however many entries have it. Memory does not grow with either tree.
package struct ReferenceMerge {
  private var entries: Cursor
  private var targets: Cursor?
  private let order: KeyOrder
  private let target: ([UInt8]) throws -> [UInt8]?
  private var isPlaced = false
  private var entry: [UInt8] = []
  private var value: [UInt8] = []
  private var missing: [UInt8]?
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
  ///   - target: The identifier that a value of the index stands for, as the targets keep it; nil where it stands for none.
  package init(
    entries: Tree, targets: Tree?, order: KeyOrder, target: @escaping ([UInt8]) throws -> [UInt8]?
  ) {
    self.entries = entries.cursor()
    self.targets = targets?.cursor()
    self.order = order
    self.target = target
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
    var isFirst = value.isEmpty
    while entries.currentPayload != nil {
      try entries.copyKey(into: &entry)
      guard let identifier = entry.withUnsafeBytes({ EntryKey.identifierRange($0) }) else {
        throw ModelError.unreadable(what: "an entry of an index", where: "its key cannot be taken apart")
      }
      if isFirst || !entry[..<identifier.lowerBound].elementsEqual(value) {
        isFirst = false
        value.removeAll(keepingCapacity: true)
        value.append(contentsOf: entry[..<identifier.lowerBound])
        missing = try target(value)
        if let sought = missing, try has(sought) { missing = nil }
      }
      if let missing { return Dangling(identifier: Array(entry[identifier]), target: missing) }
      try entries.next()
    }
    return nil
  }

  private mutating func has(_ key: [UInt8]) throws -> Bool {
    while targets?.currentPayload != nil {
      if !isCurrent { try targets?.copyKey(into: &current) }
      isCurrent = true
      if current == key { return true }
      guard order.isBytes ? current.precedes(key) : order.isBefore(current, key) else { return false }
      try targets?.next()
      isCurrent = false
    }
    return false
  }
}
