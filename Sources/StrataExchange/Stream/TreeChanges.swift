import StrataModel
import StrataDocuments
import StrataEngine

/// The difference between two states of a store, tree by tree, as lines that turn the one exactly into the other.
struct TreeChanges {
  /// Nil means the empty store.
  let old: View?
  let new: View
  /// Returns the name of a commit of this store in other stores.
  let commitName: (UInt64) -> String?

  func write(to lines: inout CommitLines) throws {
    let steps = try TreeSteps(from: old, to: new) { $0.order == $1.order }
    for name in steps.dropped {
      try lines.add(StreamLine.bytes([.init("drop", .bool(true))] + TreeLabel(name).members))
    }
    for (before, after) in steps.trees where before == nil || before?.attributes != after.attributes {
      try lines.add(definition(of: after))
    }
    for (before, after) in steps.trees where after.kind == .records { try writeRecords(before, after, &lines) }
    for (before, after) in steps.trees where after.kind == .entries { try writeEntries(before, after, &lines) }
  }

  private func definition(of tree: Tree) -> [UInt8] {
    let label = TreeLabel(tree.name)
    var members = label.members
    if tree.order == .caller { members.append(.init("order", .string("caller"))) }
    if case .other = label { members.append(.init("kind", .string(tree.kind == .records ? "records" : "entries"))) }
    let attributes = tree.attributes.array
    if case .records = label, JSONMembers.isLine(attributes) {
      return StreamLine.bytes(members, raw: ("descriptor", attributes))
    }
    if !attributes.isEmpty { members.append(.init("attributes", .string(Base64.text(of: attributes)))) }
    return StreamLine.bytes(members)
  }

  /// Visits the differences, or all entries of a new tree.
  private func forEachDifference(
    _ before: Tree?, _ after: Tree, _ body: (_ key: [UInt8], _ old: Payload?, _ new: Payload?) throws -> Void
  ) throws {
    if let old, before != nil {
      var cursor = try difference(old, new, tree: after.name)
      while let next = try cursor.next() {
        try body(next.key.array, next.old?.payload, next.new?.payload)
      }
    } else {
      var cursor = after.cursor()
      try cursor.seek(rank: 0)
      while let entry = cursor.current {
        try body(entry.key.array, nil, entry.payload)
        try cursor.next()
      }
    }
  }

  // MARK: Records

  private func writeRecords(_ before: Tree?, _ after: Tree, _ lines: inout CommitLines) throws {
    let label = TreeLabel(after.name)
    var descriptor: DatastoreDescriptor?
    if case .records = label { descriptor = try? DatastoreDescriptor(bytes: after.attributes.array) }
    var isChecked = false
    try forEachDifference(before, after) { key, old, new in
      if after.order == .caller, !isChecked {
        throw ModelError.refused(
          reason:
            "the records of \(descriptor?.key ?? "a datastore") are ordered as only its app knows, so they cannot be exchanged"
        )
      }
      isChecked = true
      guard let reference = new?.record else {
        let was = try name(of: old?.record, in: before)
        return try lines.add(StreamLine.bytes(Self.members("delete", or: "unset", key, label, descriptor, was)))
      }
      let bytes = try after.value(of: reference)
      if let old = old?.record, let before,
        try before.value(of: old) == bytes
      {
        return
      }
      try lines.add(put(key, bytes, label, descriptor, try name(of: old?.record, in: before)))
    }
  }

  private func name(of reference: RecordReference?, in tree: Tree?) throws -> String? {
    guard let reference, let tree else { return nil }
    return commitName(try tree.change(of: reference).commit)
  }

  /// The beginning of a line that changes a record of a datastore, or else of a tree that means nothing to this program.
  private static func members(
    _ change: String, or other: String, _ key: [UInt8], _ label: TreeLabel, _ descriptor: DatastoreDescriptor?,
    _ was: String?
  ) -> [Document.Member] {
    guard case .records(let datastore) = label else {
      return [.init(other, .string(Base64.text(of: key)))] + label.members
    }
    var members: [Document.Member] = [.init(change, .string(datastore)), StreamKey.member(key, descriptor)]
    if let was { members.append(.init("was", .string(was))) }
    return members
  }

  private func put(
    _ key: [UInt8], _ bytes: Bytes, _ label: TreeLabel, _ descriptor: DatastoreDescriptor?, _ was: String?
  ) -> [UInt8] {
    var members = Self.members("put", or: "set", key, label, descriptor, was)
    guard case .records = label, let (version, content) = try? RecordBytes.split(bytes),
      RecordBytes.head(version: version).count + content.count == bytes.count
    else {
      return StreamLine.bytes(members + [.init("bytes", .string(Base64.text(of: bytes.array)))])
    }
    members.append(.init("version", .string(version)))
    let value = content.array
    if JSONMembers.isLine(value) { return StreamLine.bytes(members, raw: ("value", value)) }
    if let descriptor { members.append(.init("coding", .string(descriptor.coding.rawValue))) }
    return StreamLine.bytes(members + [.init("base64", .string(Base64.text(of: value)))])
  }

  // MARK: Entries

  private func writeEntries(_ before: Tree?, _ after: Tree, _ lines: inout CommitLines) throws {
    let label = TreeLabel(after.name)
    var ranks: EntryRanks?
    try forEachDifference(before, after) { key, old, new in
      let key64 = Document.string(Base64.text(of: key))
      guard let new else { return try lines.add(StreamLine.bytes([.init("remove", key64)] + label.members)) }
      var members = [Document.Member("insert", key64)] + label.members
      switch new {
      case .none: break
      case .record: members.append(.init("payload", .string("record")))
      case .bytes(let bytes): members.append(.init("bytes", .string(Base64.text(of: bytes.array))))
      }
      if after.order == .caller {
        if ranks == nil { ranks = try EntryRanks(after) }
        members.append(.init("at", .number(NumberText(ranks?.rank(of: key) ?? 0))))
      }
      try lines.add(StreamLine.bytes(members))
    }
  }
}

/// The identifier of a record in a line: as people write it, if that gives the same bytes again.
enum StreamKey {
  static func member(_ key: [UInt8], _ descriptor: DatastoreDescriptor?) -> Document.Member {
    if let encoding = descriptor?.identifierEncoding, let value = try? encoding.decode(key) {
      let document = value.document
      // Parses the text of the line again, rather than use the document.
      if JSONMembers.isLine(document.json(.compact)), let parsed = try? JSONParser.parse(document.json(.compact)),
        let again = encoding.keyValue(from: parsed), (try? encoding.encode(again)) == key
      {
        return .init("id", document)
      }
    }
    return .init("key", .string(Base64.text(of: key)))
  }

  /// Returns nil if the line has no identifier, or one that is not valid in this datastore.
  static func bytes(_ line: StreamLine, _ descriptor: DatastoreDescriptor?) -> [UInt8]? {
    if let key = line.base64("key") { return key }
    guard let document = line.document("id"), let encoding = descriptor?.identifierEncoding,
      let value = encoding.keyValue(from: document)
    else { return nil }
    return try? encoding.encode(value)
  }
}

/// The rank of each key of a tree, for trees whose order only an app knows. Walks the tree.
struct EntryRanks {
  private(set) var keys: [[UInt8]] = []
  private var ranks: [[UInt8]: Int] = [:]

  init(_ tree: Tree) throws {
    var cursor = tree.cursor()
    try cursor.seek(rank: 0)
    while let entry = cursor.current {
      keys.append(entry.key.array)
      try cursor.next()
    }
    number()
  }

  private mutating func number() {
    ranks = Dictionary(keys.enumerated().map { ($0.element, $0.offset) }) { first, _ in first }
  }

  func rank(of key: [UInt8]) -> Int? { ranks[key] }

  /// Removes keys, and inserts others at their final ranks.
  mutating func change(removing removed: Set<[UInt8]>, inserting inserted: [(key: [UInt8], rank: Int)]) {
    keys.removeAll { removed.contains($0) }
    for (key, rank) in inserted.sorted(by: { $0.rank < $1.rank }) where ranks[key] == nil || removed.contains(key) {
      keys.insert(key, at: min(max(0, rank), keys.count))
    }
    number()
  }

  /// The place of a key in the form that the engine asks for.
  func probe(for key: [UInt8]) -> KeyProbe {
    let own = ranks[key] ?? 0
    return .compare { stored in (ranks[Array(stored)] ?? 0) - own }
  }
}
