import StrataModel
import StrataEngine

struct ChangeError: Error {
  var reason: String
  init(_ reason: String) { self.reason = reason }
}

/// Makes the changes of one commit from a stream, as they were in the store that sent them: records, index entries and descriptors, without
/// applying any rule.
///
/// Memory: the engine's memory of a transaction, which is its dirty nodes up to a bound and some 32 bytes of each record that it changes
/// (121 MiB for a commit of 3,000,000); at most 256 MiB of changes that wait because of an app's order; and the descriptors of at most
/// 10,000 trees.
final class CommitApplication {
  private let transaction: any WriteTransaction
  /// The second parent of a merge.
  private let theirs: View?
  private var descriptors: [String: DatastoreDescriptor] = [:]
  /// Changes of trees whose order only an app knows; they are made at the end, when all places are known.
  private var ordered: [TreeName: OrderedChanges] = [:]
  private var orderedBytes = 0
  private var definitions = 0
  /// The place of the first record that it wrote; all records behind it are its own.
  private var firstWritten: UInt64?

  /// The most bytes of changes that wait for the end.
  private static let mostOrdered = 256 << 20
  /// The most trees that are defined; a store in use has some ten.
  private static let mostDefinitions = 10_000

  private struct OrderedChanges {
    var removed: Set<[UInt8]> = []
    var inserted: [(key: [UInt8], payload: Payload, rank: Int)] = []
  }

  /// - Parameter theirs: The second parent of a merge. Records that are the same in the merge are taken from there, so that their versions
  ///   go on where that parent has them.
  init(_ transaction: any WriteTransaction, takingFrom theirs: View? = nil) {
    self.transaction = transaction
    self.theirs = theirs
  }

  func cancel() { transaction.cancel() }

  func commit(_ info: CommitInfo) throws -> PendingCommit? {
    for (name, changes) in ordered.sorted(by: { $0.key < $1.key }) { try make(changes, in: name) }
    return try transaction.commit(info)
  }

  func apply(_ line: StreamLine) throws {
    switch line.kind {
    case "datastore", "index", "leftOut", "tree": try define(line)
    case "drop":
      let name = try label(line).name
      descriptors.removeAll()
      guard try transaction.tree(name) != nil else { throw ChangeError("it drops a tree that is not there") }
      try transaction.dropTree(name)
    case "put", "delete": try changeRecord(line)
    case "set", "unset": try changeValue(line)
    case "insert", "remove": try changeEntry(line)
    default: throw ChangeError("“\(line.kind)” is not a line of a stream")
    }
  }

  private func label(_ line: StreamLine) throws -> TreeLabel {
    guard let label = TreeLabel(line) else { throw ChangeError("it names no tree") }
    return label
  }

  private func required(_ name: TreeName, _ kind: TreeKind) throws -> Tree {
    guard let tree = try transaction.tree(name) else { throw ChangeError("the tree that it changes is not there") }
    guard tree.kind == kind else { throw ChangeError("the tree that it changes is of another kind") }
    return tree
  }

  // MARK: Trees

  private func define(_ line: StreamLine) throws {
    definitions += 1
    guard definitions <= Self.mostDefinitions else {
      throw ChangeError("it defines more than \(Self.mostDefinitions) trees")
    }
    let label = try label(line)
    var kind = TreeKind.entries
    if case .records = label { kind = .records }
    if case .other = label, line.text("kind") == "records" { kind = .records }
    let order: TreeOrder = line.text("order") == "caller" ? .caller : .bytes
    var attributes = line.base64("attributes") ?? []
    if let descriptor = line.raw("descriptor") { attributes = Array(descriptor) }
    if case .records(let key) = label {
      guard let descriptor = try? DatastoreDescriptor(bytes: attributes), descriptor.key == key else {
        throw ChangeError("the descriptor of \(key) cannot be read")
      }
      descriptors[key] = descriptor
    }
    let name = label.name
    if let known = try transaction.tree(name) {
      guard known.kind == kind, known.order == order else { throw ChangeError("the tree is there, of another kind") }
      try transaction.setAttributes(attributes, of: name)
    } else {
      try transaction.createTree(name, kind: kind, order: order, attributes: attributes)
    }
  }

  private func descriptor(_ key: String) throws -> DatastoreDescriptor {
    if let known = descriptors[key] { return known }
    let tree = try required(.records(of: key), .records)
    let descriptor = try DatastoreDescriptor(bytes: tree.attributes.array)
    descriptors[key] = descriptor
    return descriptor
  }

  // MARK: Records

  private func changeRecord(_ line: StreamLine) throws {
    guard let key = line.text(line.kind) else { throw ChangeError("it names no datastore") }
    let descriptor = try descriptor(key)
    let name = TreeName.records(of: key)
    guard let identifier = StreamKey.bytes(line, descriptor) else {
      throw ChangeError("its id is not an identifier of \(key)")
    }
    guard descriptor.identifierEncoding.treeOrder == .bytes else {
      throw ChangeError("the records of \(key) are ordered as only its app knows")
    }
    if line.kind == "delete" { return try delete(identifier, in: name, "a record of \(key) that") }
    guard let bytes = recordBytes(line) else { throw ChangeError("the put has no value") }
    try put(identifier, bytes, in: name)
  }

  /// Takes over a record from the second parent if it has this content there, or was deleted there; otherwise does nothing and returns
  /// false.
  private func copyFromSecondParent(_ key: [UInt8], _ bytes: [UInt8]?, in name: TreeName) throws -> Bool {
    guard let theirs, let there = try theirs.tree(name), there.order == .bytes else { return false }
    let found = try there.find(.bytes(key))?.payload.record
    guard try found.map({ found in try there.value(of: found).array }) == bytes else { return false }
    return try transaction.copyRecord(key, in: name, from: theirs, probe: nil)
  }

  private func put(_ key: [UInt8], _ bytes: [UInt8], in name: TreeName) throws {
    if try copyFromSecondParent(key, bytes, in: name) { return }
    try checkOnce(try transaction.put(key, bytes, in: name))
    if firstWritten == nil { firstWritten = try transaction.currentReference(of: key, in: name)?.place }
  }

  private func delete(_ key: [UInt8], in name: TreeName, _ what: String) throws {
    if try copyFromSecondParent(key, nil, in: name) { return }
    guard let deleted = try transaction.delete(key, in: name) else {
      throw ChangeError("it deletes \(what) is not there")
    }
    try checkOnce(deleted)
  }

  /// A commit changes a record once. If a stream without end changed it again and again, the transaction would remember each time.
  private func checkOnce(_ replaced: RecordReference?) throws {
    guard case .entry? = replaced, let replaced, let firstWritten else { return }
    if replaced.place >= firstWritten { throw ChangeError("it changes a record twice") }
  }

  private func recordBytes(_ line: StreamLine) -> [UInt8]? {
    if let bytes = line.base64("bytes") { return bytes }
    guard let version = line.text("version") else { return nil }
    if let value = line.raw("value") { return RecordBytes.make(version: version, content: Array(value)) }
    return line.base64("base64").map { RecordBytes.make(version: version, content: $0) }
  }

  /// A record of a tree that means nothing to this program.
  private func changeValue(_ line: StreamLine) throws {
    let name = try label(line).name
    guard let key = line.base64(line.kind) else { throw ChangeError("its key is not base64") }
    guard try required(name, .records).order == .bytes else {
      throw ChangeError("the tree is ordered as only its app knows")
    }
    if line.kind == "unset" { return try delete(key, in: name, "what") }
    guard let bytes = line.base64("bytes") else { throw ChangeError("the value is not base64") }
    try put(key, bytes, in: name)
  }

  // MARK: Entries

  private func changeEntry(_ line: StreamLine) throws {
    let label = try label(line)
    guard let key = line.base64(line.kind) else { throw ChangeError("its key is not base64") }
    let order = try required(label.name, .entries).order
    if order == .caller {
      orderedBytes += line.bytes.count
      guard orderedBytes <= Self.mostOrdered else {
        throw ChangeError("it changes more than \(Self.mostOrdered) bytes of indexes whose order only their app knows")
      }
    }
    if line.kind == "remove" {
      if order == .caller {
        ordered[label.name, default: OrderedChanges()].removed.insert(key)
        return
      }
      let wasThere = try transaction.remove(key, in: label.name)
      if !wasThere { throw ChangeError("it removes an index entry that is not there") }
      return
    }
    let payload = try payload(line, key, label)
    if order == .caller {
      guard let rank = line.number("at").flatMap({ Int(exactly: $0) }) else {
        throw ChangeError("the entry does not say where it stands, in an index whose order only its app knows")
      }
      ordered[label.name, default: OrderedChanges()].inserted.append((key, payload, rank))
    } else {
      try transaction.insert(key, payload, in: label.name)
    }
  }

  private func payload(_ line: StreamLine, _ key: [UInt8], _ label: TreeLabel) throws -> Payload {
    if let bytes = line.base64("bytes") { return .bytes(Bytes(bytes)) }
    guard line.has("payload") else { return .none }
    guard case .index(_, let datastore) = label,
      let identifier = key.withUnsafeBytes({ EntryKey.identifier($0) }),
      let reference = try transaction.currentReference(of: identifier, in: .records(of: datastore))
    else { throw ChangeError("the entry is of no record") }
    return .record(reference)
  }

  private func make(_ changes: OrderedChanges, in name: TreeName) throws {
    let tree = try required(name, .entries)
    var ranks = try EntryRanks(tree)
    for key in changes.removed {
      guard ranks.rank(of: key) != nil else { throw ChangeError("it removes an index entry that is not there") }
      try transaction.remove(key, in: name, probe: ranks.probe(for: key))
    }
    ranks.change(removing: changes.removed, inserting: changes.inserted.map { ($0.key, $0.rank) })
    for (key, payload, _) in changes.inserted {
      try transaction.insert(key, payload, in: name, probe: ranks.probe(for: key))
    }
  }
}
