package import StrataDocuments
import StrataEngine

struct EngineDatastore: ReadableDatastore {
  let view: EngineView
  let descriptor: DatastoreDescriptor
  let tree: Tree
  private let rules: MergeRules
  /// Whether few of its records are read, which lie far apart.
  private var isReadSparsely = false

  init(view: EngineView, descriptor: DatastoreDescriptor, tree: Tree) {
    self.view = view
    self.descriptor = descriptor
    self.tree = tree
    rules = descriptor.mergeRules
  }

  /// The same datastore for a reader that reads few of its records, far apart in the file.
  var readSparsely: EngineDatastore {
    var copy = self
    copy.isReadSparsely = true
    return copy
  }

  var isDistant: Bool { view.store.isDistant }

  var count: Int { get throws(ModelError) { try tree.entryCount() } }

  var primary: any ReadableIndex {
    EngineIndex(
      datastore: self,
      descriptor: IndexDescriptor(
        name: "", kind: .primary, encoding: descriptor.identifierEncoding, valueType: descriptor.identifierType,
        rule: descriptor.identifierPath, isUnique: true, version: descriptor.version))
  }

  var indexes: [any ReadableIndex] { descriptor.indexes.map { EngineIndex(datastore: self, descriptor: $0) } }

  var leftOutCount: Int {
    get throws(ModelError) {
      try view.tree(.leftOut(of: descriptor.key))?.entryCount() ?? 0
    }
  }

  func leftOut(limit: Int) throws(ModelError) -> [LeftOutRecord] {
    guard let tree = try view.tree(.leftOut(of: descriptor.key)) else { return [] }
    return try onStorage {
      var found: [LeftOutRecord] = []
      var cursor = tree.cursor()
      try cursor.seek(rank: 0)
      while let entry = cursor.current, found.count < limit {
        var reason = ""
        if case .bytes(let text) = entry.payload { reason = String(decoding: text.array, as: UTF8.self) }
        found.append(LeftOutRecord(identifier: descriptor.storedKey(entry.key.array), reason: reason))
        try cursor.next()
      }
      return found
    }
  }

  /// The place of the record with an identifier; nil if there is none.
  func reference(of key: StoredKey) throws(ModelError) -> RecordReference? { try entry(key.bytes)?.payload.record }

  func record(_ key: StoredKey) throws(ModelError) -> Record? {
    view.store.beginReading(.keys([key.bytes], in: .records(of: descriptor.key), at: view.commit))
    defer { view.store.endReading() }
    guard let reference = try reference(of: key) else { return nil }
    return try record(key, at: reference)
  }

  /// The order of the records by the app's types, or that of bytes if they are not known.
  var recordOrder: KeyOrder { view.store.formats[descriptor.key]?.recordOrder ?? .bytes }

  func records(at ranks: Range<Int>) -> any RecordCursor { EngineRecordCursor(self, at: ranks) }

  func identifier(parsing text: String) throws(ModelError) -> StoredKey {
    let value = try descriptor.identifierEncoding.parse(text)
    return StoredKey(bytes: try descriptor.identifierEncoding.encode(value), value: value)
  }

  func record(_ key: StoredKey, at reference: RecordReference) throws(ModelError) -> Record {
    let bytes = try onStorage { try tree.value(of: reference, isCopied: isReadSparsely) }
    var record = try descriptor.record(key, bytes)
    record.rules = rules
    return record
  }

  /// The record at a place, or with its damage if it cannot be read there.
  func evenDamaged(_ key: StoredKey, at reference: RecordReference?) throws(ModelError) -> Record? {
    guard let reference else { return nil }
    return try Record.evenDamaged(key) { () throws(ModelError) in try record(key, at: reference) }
  }

  func entry(_ identifier: [UInt8]) throws(ModelError) -> Entry? {
    view.store.beginReading(.keys([identifier], in: .records(of: descriptor.key), at: view.commit))
    defer { view.store.endReading() }
    let order = recordOrder
    guard order.treeOrder == tree.order else { return try tree.firstEntry { $0 == identifier }?.entry }
    return try onStorage { try order.place(of: identifier).withProbe { try tree.find($0) } }
  }
}

extension DatastoreDescriptor {
  /// Returns a record's content as a document, with unordered lists sorted, as `Record.document()` does.
  package func document(of content: RecordContent) throws(DocumentError) -> Document {
    mergeRules.normalized(try coding(of: content.bytes).document(of: content.bytes))
  }

  func record(_ key: StoredKey, _ bytes: Bytes) throws(ModelError) -> Record {
    try content(bytes).record(of: key)
  }

  /// The version and content in the stored bytes of a record, whose memory it shares.
  func content(_ bytes: Bytes) throws(ModelError) -> RawRecord {
    let (version, content) = try RecordBytes.split(bytes)
    return RawRecord(version: version, bytes: content, coding: content.withUnsafeBytes { coding(of: $0) })
  }

  /// The coding of a record's content: the descriptor's, unless the record was plainly written under another one before
  /// the app changed its coder.
  package func coding(of content: [UInt8]) -> RecordCoding { content.withUnsafeBytes { coding(of: $0) } }

  private func coding(of content: UnsafeRawBufferPointer) -> RecordCoding {
    switch coding {
    case .opaque: return .opaque
    case .json where content.first != UInt8(ascii: "b") && content.first != UInt8(ascii: "<"): return .json
    case .binaryPropertyList where content.starts(with: "bplist".utf8): return .binaryPropertyList
    default:
      let sniffed = RecordCoding.sniff(Array(content))
      return sniffed == .opaque ? coding : sniffed
    }
  }
}

extension Tree {
  /// The first entry whose key is wanted, with its rank; walks the tree, so it is for trees whose order only the app
  /// knows.
  func firstEntry(where isWanted: ([UInt8]) -> Bool) throws(ModelError) -> (entry: Entry, rank: Int)? {
    try onStorage {
      var cursor = cursor()
      var rank = 0
      try cursor.seek(rank: 0)
      while let entry = cursor.current {
        if isWanted(entry.key.array) { return (entry, rank) }
        rank += 1
        try cursor.next()
      }
      return nil
    }
  }
}
