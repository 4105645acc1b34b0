extension FreshNode {
  /// Inserts a fresh child at an index of an inner node.
  func insertChild(_ child: FreshNode, count: UInt64, key: [UInt8], at index: Int) throws(StorageError) {
    try withPointer(.fresh(count: count)) { fixed throws(StorageError) in
      try key.withBytes { key throws(StorageError) in
        try insertCell(at: index, fixed: fixed, key: key, child: child)
      }
    }
  }

  /// Replaces the pointer in a cell, and the fresh child below it if the child is not in the file.
  func setChild(_ child: FreshNode?, _ pointer: NodePointer, at index: Int) {
    withPointer(pointer) { replaceFixed(at: index, $0) }
    children[index] = child
  }

  private func withPointer<R, E: Error>(
    _ pointer: NodePointer, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try withUnsafeTemporaryAllocation(byteCount: NodePointer.size, alignment: 1) { fixed throws(E) in
      if let start = fixed.baseAddress { pointer.store(into: start) }
      return try body(UnsafeRawBufferPointer(fixed))
    }
  }

  /// Lays a leaf out again so that each cell can hold another kind of payload.
  func makeMixed() throws(StorageError) {
    let view = try view
    let mixed = FreshNode(form: .mixed, level: 0)
    for index in 0..<view.count {
      let key = try view.key(index)
      try view.payload(index).withFixedPart(isMixed: true) { fixed throws(StorageError) in
        try key.withBytes { key throws(StorageError) in try mixed.insertCell(at: index, fixed: fixed, key: key) }
      }
    }
    replaceContents(with: mixed)
  }

  /// Adds all cells of the right neighbour. `firstKey` separates the two in their parent.
  func append(_ right: Node, firstKey: [UInt8]) throws(StorageError) {
    let ownForm = try view.form
    if ownForm != .inner, ownForm != right.view.form {
      if ownForm != .mixed { try makeMixed() }
      if right.view.form != .mixed {
        let copy = try FreshNode(copyingStored: right.view)
        try copy.makeMixed()
        return try append(try Node(copy), firstKey: firstKey)
      }
    }
    var position = try view.count
    for index in 0..<right.view.count {
      let key = right.view.form == .inner && index == 0 ? firstKey : try right.view.key(index)
      let fixed = try right.view.fixed(index)
      var child: FreshNode?
      if case .fresh(let node) = right.owner, right.view.form == .inner { child = node.children[index] }
      try key.withBytes { key throws(StorageError) in
        try insertCell(at: position, fixed: fixed, key: key, child: child)
      }
      position += 1
    }
  }
}

extension EntryReference {
  /// Writes `size` bytes.
  func store(into target: UnsafeMutableRawPointer) {
    offset.store(into: target)
    target.storeBytes(of: length.littleEndian, toByteOffset: 6, as: UInt32.self)
    target.storeBytes(of: check.littleEndian, toByteOffset: 10, as: UInt32.self)
  }
}

extension Payload {
  /// The fixed part of a cell with this payload.
  @inline(__always)
  func withFixedPart<R, E: Error>(
    isMixed: Bool, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try withUnsafeTemporaryAllocation(byteCount: 3 + Limits.payload, alignment: 1) { fixed throws(E) in
      let count = store(into: fixed, isMixed: isMixed)
      return try body(UnsafeRawBufferPointer(rebasing: fixed[..<count]))
    }
  }

  /// Writes the fixed part of a cell. Returns its size.
  private func store(into target: UnsafeMutableRawBufferPointer, isMixed: Bool) -> Int {
    switch self {
    // A transaction on a file takes no record of a server.
    case .none, .record(.served):
      guard isMixed else { return 0 }
      target[0] = 0
      return 1
    case .record(.entry(let reference)):
      let tag = isMixed ? 1 : 0
      if isMixed { target[0] = 1 }
      if let start = target.baseAddress { reference.store(into: start + tag) }
      return tag + EntryReference.size
    case .bytes(let bytes):
      // An empty payload is none: the length byte is one less than the length.
      guard bytes.count > 0 else {
        target[0] = 0
        return 1
      }
      target[0] = 2
      target[1] = UInt8(truncatingIfNeeded: bytes.count - 1)
      bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: target[2...]).copyMemory(from: $0) }
      return 2 + bytes.count
    }
  }
}
