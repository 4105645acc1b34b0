extension CommitRecord {
  static let currentVersion: UInt8 = 1

  /// Appends the record, with the distances of superseded entries from the frame's beginning, in ascending order. Tells where
  /// in the buffer their list begins.
  @discardableResult
  func encode(into buffer: ByteBuffer, superseded: [UInt64], tail: RecordTail = RecordTail()) -> Int {
    buffer.append(byte: CommitRecord.currentVersion)
    buffer.append(varint: number)
    buffer.append(origin)
    buffer.append(varint: originNumber)
    buffer.append(date)
    buffer.append(varint: UInt64(flags.rawValue))
    buffer.append(varint: undoes ?? 0)
    buffer.append(varint: restores ?? 0)
    buffer.append(byte: UInt8(truncatingIfNeeded: links.parents.count))
    for parent in links.parents { buffer.append(link: parent) }
    buffer.append(link: links.ancestry.jump)
    buffer.append(link: links.ancestry.previousJump)
    buffer.append(link: links.order.jump)
    buffer.append(link: links.order.previousJump)
    buffer.append(link: links.order.previous)
    buffer.append(link: links.lastRestore)
    buffer.append(link: links.head)
    buffer.append(links.catalog)
    buffer.append(links.names)
    buffer.append(varint: UInt64(links.nextTree))
    buffer.append(varint: liveBytes)
    buffer.append(varint: zigzag(deadBytes))
    buffer.append(text: program)
    buffer.append(text: author)
    buffer.append(text: action)
    buffer.append(varint: UInt64(names.count))
    for change in names {
      buffer.append(text: change.name)
      buffer.append(varint: change.commit ?? 0)
    }
    buffer.append(varint: UInt64(counts.count))
    for count in counts {
      buffer.append(varint: UInt64(count.identifier))
      buffer.append(varint: UInt64(count.tree.bytes.count))
      buffer.append(count.tree.bytes)
      buffer.append(varint: count.inserted)
      buffer.append(varint: count.updated)
      buffer.append(varint: count.deleted)
    }
    buffer.append(varint: UInt64(superseded.count))
    let list = buffer.count
    var last: UInt64 = 0
    for distance in superseded {
      buffer.append(varint: distance &- last)
      last = distance
    }
    tail.encode(into: buffer)
    return list
  }

  /// `isBare`: passes over texts, names and counts, for callers that need the descent of many commits.
  init(
    _ bytes: UnsafeRawBufferPointer, frameOffset: FileOffset, header: FrameHeader, isBare: Bool = false
  ) throws(StorageError) {
    let offset = frameOffset &+ header.recordOffset
    var reader = ByteReader(bytes, what: "commit record", offset: offset)
    guard try reader.byte() == CommitRecord.currentVersion else { throw reader.damage }
    number = try reader.varint()
    origin = try reader.fixed()
    originNumber = try reader.varint()
    date = try reader.fixed()
    flags = CommitFlags(rawValue: UInt32(truncatingIfNeeded: try reader.varint()))
    undoes = try reader.varint().nonzero
    restores = try reader.varint().nonzero
    let parentCount = try reader.byte()
    guard number == header.number, parentCount <= 2 else { throw reader.damage }
    var parentLinks: [CommitLink] = []
    for _ in 0..<parentCount {
      guard let parent = try reader.link() else { throw reader.damage }
      parentLinks.append(parent)
    }
    parents = parentLinks.map(\.number)
    let ancestry = Lineage(
      previous: parentLinks.first, jump: try reader.link(), previousJump: try reader.link())
    let orderJump = try reader.link()
    let orderPreviousJump = try reader.link()
    let order = Lineage(previous: try reader.link(), jump: orderJump, previousJump: orderPreviousJump)
    let lastRestore = try reader.link()
    let head = try reader.link() ?? .beginning
    let catalog = try reader.nodePointer()
    let namesRoot = try reader.nodePointer()
    guard let nextTree = UInt32(exactly: try reader.varint()) else { throw reader.damage }
    liveBytes = try reader.varint()
    deadBytes = unzigzag(try reader.varint())
    if isBare {
      for _ in 0..<3 { _ = try reader.read(try reader.varint()) }
    } else {
      program = try reader.text()
      author = try reader.text()
      action = try reader.text()
    }

    names = []
    for _ in 0..<(try reader.varint()) {
      if isBare { _ = try reader.read(try reader.varint()) }
      let name = isBare ? "" : try reader.text()
      let commit = try reader.varint().nonzero
      if !isBare { names.append(NameChange(name: name, commit: commit)) }
    }
    counts = []
    for _ in 0..<(try reader.varint()) {
      guard let identifier = UInt32(exactly: try reader.varint()) else { throw reader.damage }
      let name = try reader.read(try reader.varint())
      let (inserted, updated, deleted) = (try reader.varint(), try reader.varint(), try reader.varint())
      if isBare { continue }
      counts.append(
        ChangeCounts(
          tree: TreeName([UInt8](name)), inserted: inserted, updated: updated, deleted: deleted,
          identifier: identifier))
    }
    let supersededCount = try reader.varint()
    let listOffset = offset &+ UInt64(reader.position)
    frameBytes = header.length

    let depth = (parentLinks.first?.depth ?? 0) &+ 1
    links = CommitLinks(
      own: CommitLink(number: number, offset: frameOffset, depth: depth, date: date),
      frameEnd: frameOffset &+ header.length, orderDepth: (order.previous?.depth ?? 0) &+ 1, parents: parentLinks,
      ancestry: ancestry, order: order, lastRestore: lastRestore, head: head, catalog: catalog, names: namesRoot,
      nextTree: nextTree, changesEnd: frameOffset &+ UInt64(FrameHeader.size) &+ header.changesLength,
      superseded: SupersededList(count: supersededCount, offset: listOffset, length: reader.remaining))
  }

  /// The commit as the order of the file links to it.
  var orderLink: CommitLink {
    CommitLink(number: number, offset: links.own.offset, depth: links.orderDepth, date: date)
  }
}

extension ByteBuffer {
  func append(link: CommitLink?) {
    guard let link, link.number > 0 else { return append(byte: 0) }
    append(varint: link.number)
    append(varint: link.offset.bytes)
    append(varint: link.depth)
    append(link.date)
  }
}

extension ByteReader {
  mutating func link() throws(StorageError) -> CommitLink? {
    guard let number = try varint().nonzero else { return nil }
    return CommitLink(number: number, offset: FileOffset(try varint()), depth: try varint(), date: try fixed())
  }
}

extension UInt64 {
  var nonzero: UInt64? { self == 0 ? nil : self }
}

private func zigzag(_ number: Int64) -> UInt64 { UInt64(bitPattern: (number << 1) ^ (number >> 63)) }
private func unzigzag(_ number: UInt64) -> Int64 {
  Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
}
