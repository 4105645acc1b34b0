import StrataEngine

/// Where a store and its model part.
struct Disagreement: Error, CustomStringConvertible {
  var description: String
}

/// Compares a store with its model.
struct StoreComparison {
  let store: FileStore
  let model: StoreModel

  /// The newest commit of the file, whichever branch it is on; at least `least`.
  func newest(least: UInt64) throws -> UInt64 {
    var number = least
    while try isThere(number + 1) { number += 1 }
    return number
  }

  private func isThere(_ number: UInt64) throws -> Bool {
    do {
      _ = try store.commit(number)
      return true
    } catch {
      if case .prunedCommit = error, model.prunable.contains(number) { return true }
      guard case .noSuchCommit = error else { throw error }
      return false
    }
  }

  /// All promised commits are there, none is half there, names and head are those of the newest commit. Of commits older
  /// than the newest few one in `every` is looked at.
  func checkAll(promised: UInt64, every: Int = 1) throws -> UInt64 {
    if promised > 0, try !isThere(promised) { throw Disagreement(description: "commit \(promised), promised, is gone") }
    let newest = try newest(least: promised)
    guard newest <= model.newest else { throw Disagreement(description: "commit \(newest) was never made") }
    guard newest > 0 else { return 0 }
    // The newest ones are where damage is to be expected, the head is what users see; of the rest a sample.
    var looked: Set<UInt64> = [newest, max(promised, 1), store.head.commit.number]
    looked.formUnion(stride(from: newest, to: 0, by: -max(1, every)))
    for number in looked.sorted() where number > 0 {
      do {
        try checkRecord(number)
        try checkState(number)
      } catch let error as StorageError {
        guard case .prunedCommit = error, model.prunable.contains(number) else { throw error }
      }
    }
    try checkNames(newest)
    return newest
  }

  func checkNames(_ newest: UInt64) throws {
    guard let expected = model[newest] else { throw Disagreement(description: "commit \(newest) was never made") }
    let names = try store.names.filter { $0.key != "head" }
    guard names == expected.names else {
      throw Disagreement(description: "after \(newest) the names are \(names), not \(expected.names)")
    }
    let head = store.head.commit.number
    guard head == expected.head else {
      throw Disagreement(description: "after \(newest) the head is \(head), not \(expected.head)")
    }
  }

  func checkRecord(_ number: UInt64) throws {
    let record = try store.commit(number)
    guard let expected = model[number] else { throw Disagreement(description: "commit \(number) was never made") }
    // The parents of what a compaction keeps are the nearest kept ancestors.
    let parentsMayDiffer = !model.prunable.isDisjoint(with: expected.parents)
    guard record.number == number, record.parents == expected.parents || parentsMayDiffer,
      record.action == expected.action
    else {
      throw Disagreement(
        description: "commit \(number) has number \(record.number), parents \(record.parents), action \(record.action)")
    }
  }

  func checkState(_ number: UInt64) throws {
    try StoreComparison.check(store.view(at: number), model.state(at: number), "commit \(number)")
  }

  static func check(_ view: View, _ expected: StoreModel.State, _ what: String) throws {
    let names = try view.trees()
    guard names == expected.keys.sorted() else {
      throw Disagreement(description: "\(what) has the trees \(names), not \(expected.keys.sorted())")
    }
    for name in names {
      guard let tree = try view.tree(name), let state = expected[name] else {
        throw Disagreement(description: "\(what): tree \(name) is listed and not found")
      }
      try check(tree, state, "\(what), \(name)")
    }
  }

  static func check(_ tree: Tree, _ expected: StoreModel.TreeState, _ what: String) throws {
    guard tree.kind == expected.kind, tree.attributes.array == expected.attributes,
      tree.entryCount == UInt64(expected.entries.count)
    else {
      throw Disagreement(
        description: "\(what): kind \(tree.kind), count \(tree.entryCount), not \(expected.entries.count)")
    }
    var cursor = tree.cursor()
    try cursor.seek(rank: 0)
    // So many as are due, each greater than the last and each one of those: all of them, in their order.
    var last: [UInt8]?
    for _ in 0..<expected.entries.count {
      guard let entry = cursor.current else {
        throw Disagreement(description: "\(what) ends after \(text(last ?? []))")
      }
      let key = entry.key.array
      if let last, !last.lexicographicallyPrecedes(key) {
        throw Disagreement(description: "\(what): \(text(key)) lies behind \(text(last))")
      }
      guard let due = expected.entries[key] else {
        throw Disagreement(description: "\(what) has \(text(key)) too many")
      }
      guard try value(of: entry, in: tree) == due else {
        throw Disagreement(description: "\(what): \(text(key)) has another value")
      }
      last = key
      try cursor.next()
    }
    if let extra = cursor.current { throw Disagreement(description: "\(what) has \(text(extra.key.array)) too many") }
  }

  static func value(of entry: Entry, in tree: Tree) throws -> [UInt8] {
    if let reference = entry.payload.record { return try tree.value(of: reference).array }
    return if case .bytes(let bytes) = entry.payload { bytes.array } else { [] }
  }

  private static func text(_ key: [UInt8]) -> String { String(decoding: key, as: UTF8.self) }
}
