import DiskSimulation

@testable import StrataEngine

// What a random history must be beside its states: each record's past, and the counts of bytes.

extension StoreComparison {
  /// Every record's chain of versions, as seen from a commit, tells the states that the kept commits before it had, in their order.
  func checkVersions(from newest: UInt64) throws {
    let name = ScriptRunner.name(0)
    var line: [UInt64] = []
    var next: UInt64? = newest
    while let number = next {
      line.insert(number, at: 0)
      next = try store.commit(number).parents.first
    }
    let view = try store.view(at: newest)
    for key in Set(line.flatMap { (model.state(at: $0)[name]?.entries ?? [:]).keys }) {
      let states = line.map { model.state(at: $0)[name]?.entries[key] }
      var told: [StoreModel.Value?] = []
      var cursor = try view.versions(of: .bytes(key), in: name)
      var last: UInt64?
      while let version = try cursor.next() {
        let value = try version.change.flatMap { try $0.kind == .delete ? nil : view.value(of: $0.reference).array }
        guard line.contains(version.commit), model.state(at: version.commit)[name]?.entries[key] == value else {
          throw Disagreement(
            description: "a version of \(key) in commit \(version.commit) is not what that commit holds")
        }
        if let last, version.commit >= last {
          throw Disagreement(description: "versions of \(key): \(version.commit) comes after \(last)")
        }
        last = version.commit
        told.insert(value, at: 0)
      }
      guard changes(told) == changes(states) else {
        throw Disagreement(
          description: "the versions of \(key) from \(newest) are \(changes(told)), not \(changes(states))")
      }
    }
  }

  /// The states without those that are like the one before; at first there is nothing.
  private func changes(_ states: [StoreModel.Value?]) -> [StoreModel.Value?] {
    var all: [StoreModel.Value?] = [nil]
    for state in states where state != all[all.count - 1] { all.append(state) }
    return all
  }

  /// The bytes that each commit's state consists of, and those that it made dead, counted anew from where they lie.
  func checkBytes() throws {
    for number in 1...model.newest {
      guard let view = try? store.view(at: number) else { continue }
      let state = try view.pieces()
      let live = state.values.reduce(0 as UInt64) { $0 + $1 }
      guard view.commit.liveBytes == live else {
        throw Disagreement(description: "#\(number) has \(live) live bytes and counts \(view.commit.liveBytes)")
      }
      let before = try view.commit.parents.first.map { try store.view(at: $0).pieces() } ?? [:]
      let frame = view.commit.links.own.offset..<view.commit.links.frameEnd
      let changes = frame.lowerBound + UInt64(FrameHeader.size)..<view.commit.links.changesEnd
      // All entries that were written, and of the state before, but for what is in this state.
      var dead = Int64(changes.length)
      for (offset, length) in before where state[offset] == nil { dead += Int64(length) }
      for (offset, length) in state {
        if changes.contains(offset) { dead -= Int64(length) }
        // Brought back from an older state.
        if !frame.contains(offset), before[offset] == nil { dead -= Int64(length) }
      }
      guard view.commit.deadBytes == dead else {
        throw Disagreement(description: "#\(number) made \(dead) bytes dead and counts \(view.commit.deadBytes)")
      }
    }
  }
}

extension View {
  /// Where the nodes and change entries of this state lie, and how long each is.
  fileprivate func pieces() throws -> [FileOffset: UInt64] {
    var pieces: [FileOffset: UInt64] = [:]
    try collect(commit.links.catalog, &pieces)
    for name in try trees() {
      guard let entry = try catalogEntry(name) else { continue }
      if entry.attributes != .none { pieces[entry.attributes.offset] = UInt64(entry.attributes.length) }
      for root in [entry.root, entry.tombstones] {
        try collect(root, &pieces)
        guard entry.kind == .records else { continue }
        var cursor = Cursor(file: file, root: TreeRoot(pointer: root))
        try cursor.seekToStart()
        while let found = cursor.current {
          if let record = found.payload.record?.entry { pieces[record.offset] = UInt64(record.length) }
          try cursor.next()
        }
      }
    }
    return pieces
  }

  private func collect(_ pointer: NodePointer, _ pieces: inout [FileOffset: UInt64]) throws {
    if pointer.isNone { return }
    pieces[pointer.offset] = UInt64(pointer.length)
    if let base = try file.base(of: pointer) { pieces[base.offset] = UInt64(base.length) }
    let node = try file.node(at: pointer)
    guard node.view.form == .inner else { return }
    for index in 0..<node.view.count { try collect(node.view.pointer(index), &pieces) }
  }
}
