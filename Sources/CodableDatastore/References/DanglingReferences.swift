import DatastoreModel
import StorageEngine

extension DatastoreCore {
  /// Goes along the index of a reference and the identifiers of its target together.
  func dangling<Target: DatastoreFormat, Value: Indexable>(
    _ path: KeyPath<Format, ReferenceRepresentation<Instance, Target, Value>>, in target: DatastoreCore<Target>
  ) async throws -> [DanglingReference<Identifier, Target.Identifier>] {
    let reference = declared(path)
    let index = try index(at: path)
    guard let coder = index.coder as? KeyCoder<Value> else { throw DatastoreError.missingIndex }
    let targets = try await target.keys()
    let state = try await ready()
    let (records, tree) = try trees(of: index, in: state)
    guard let records else { return [] }
    guard let tree, try canRead(index, in: records) else { throw missing(index) }

    var dangling: [DanglingReference<Identifier, Target.Identifier>] = []
    var merge = TargetMerge(targets, order: target.identifiers.order)
    var entries = RecordWalk(tree: tree, source: .itself, ranks: 0..<tree.count, isDescending: false)
    var last: (value: [UInt8], target: Target.Identifier?)?
    while let entry = try entries.nextEntry() {
      guard let (value, identifier) = entry.key.withUnsafeBytes({ EntryKey.split($0) }) else { continue }
      if last?.value != value {
        let named = coder.value(of: value).flatMap(reference.identifier)
        let isThere = try named.map { try merge.has(try target.key(of: $0)) } ?? true
        last = (value, isThere ? nil : named)
      }
      guard let missing = last?.target, let id = identifiers.value(of: identifier) else { continue }
      dangling.append(DanglingReference(id: id, target: missing))
    }
    return dangling
  }

  /// The keys of the records, in their order; nil where there are none.
  private func keys() async throws -> RecordWalk? {
    guard let tree = try recent.tree(recordsTree, of: try await ready()) else { return nil }
    return RecordWalk(tree: tree, source: .itself, ranks: 0..<tree.count, isDescending: false)
  }
}

/// Whether keys are among those of a tree, asked in the tree's order: one walk, however many are asked for.
private struct TargetMerge {
  private var keys: RecordWalk?
  private let order: KeyOrder
  private var current: [UInt8]?

  init(_ keys: RecordWalk?, order: KeyOrder) {
    self.keys = keys
    self.order = order
  }

  mutating func has(_ key: [UInt8]) throws -> Bool {
    while true {
      if current == nil {
        guard let entry = try keys?.nextEntry() else { return false }
        current = entry.key.array
      }
      guard let current else { return false }
      if current == key { return true }
      guard order.isBefore(current, key) else { return false }
      self.current = nil
    }
  }
}
