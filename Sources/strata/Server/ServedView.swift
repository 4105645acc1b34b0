#if PostgreSQL
  import DatastoreModel
  import Documents
  import PostgresStore
  import StorageEngine
  import Synchronization

  /// A commit of a store on a server.
  struct ServedView: ReadableView {
    let store: ServedStore
    let view: ServerView

    var commit: CommitNumber { CommitNumber(view.commit.number) }

    var keys: [String] {
      get throws(ModelError) {
        try onServer { () throws(ServerError) in try view.trees(prefix: TreeName.records(of: "").bytes) }
          .compactMap(\.datastoreKey)
      }
    }

    var datastores: [any ReadableDatastore] {
      get throws(ModelError) {
        var found: [any ReadableDatastore] = []
        for key in try keys { if let datastore = try served(key) { found.append(datastore) } }
        return found
      }
    }

    func datastore(_ key: String) throws(ModelError) -> (any ReadableDatastore)? { try served(key) }

    func served(_ key: String) throws(ModelError) -> ServedDatastore? {
      guard let tree = try tree(.records(of: key)) else { return nil }
      return ServedDatastore(view: self, descriptor: try DatastoreDescriptor(bytes: tree.attributes), tree: tree)
    }

    func tree(_ name: TreeName) throws(ModelError) -> ServerTree? {
      try onServer { () throws(ServerError) in try view.tree(name) }
    }
  }

  /// A datastore of a store on a server, as of a commit.
  struct ServedDatastore: ReadableDatastore {
    let view: ServedView
    let descriptor: DatastoreDescriptor
    let tree: ServerTree

    var count: Int { get throws(ModelError) { try view.store.count(tree) } }
    var primary: any ReadableIndex { ServedIndex(datastore: self, secondary: nil) }
    var indexes: [any ReadableIndex] { descriptor.indexes.map { ServedIndex(datastore: self, secondary: $0) } }

    func record(_ key: StoredKey) throws(ModelError) -> Record? {
      try onServer { () throws(ServerError) in try tree.find(key.bytes) }
        .flatMap { entry throws(ModelError) in try descriptor.record(entry) }
    }

    func records(at ranks: Range<Int>) throws(ModelError) -> any RecordCursor { ServedRecords(self, at: ranks) }

    func identifier(parsing text: String) throws(ModelError) -> StoredKey {
      let value = try descriptor.identifierEncoding.parse(text)
      return StoredKey(bytes: try descriptor.identifierEncoding.encode(value), value: value)
    }

    var leftOutCount: Int {
      get throws(ModelError) {
        try view.tree(.leftOut(of: descriptor.key)).map { tree throws(ModelError) in try view.store.count(tree) } ?? 0
      }
    }

    func leftOut(limit: Int) throws(ModelError) -> [LeftOutRecord] {
      guard let tree = try view.tree(.leftOut(of: descriptor.key)) else { return [] }
      return try onServer { () throws(ServerError) in try tree.page(limit: limit) }.map { entry in
        var reason = ""
        if case .bytes(let text) = entry.payload { reason = String(decoding: text, as: UTF8.self) }
        return LeftOutRecord(identifier: descriptor.storedKey(entry.key), reason: reason)
      }
    }
  }

  extension DatastoreDescriptor {
    /// The record of an entry.
    func record(_ entry: ServerEntry) throws(ModelError) -> Record? {
      guard case .bytes(let bytes) = entry.payload else { return nil }
      let (version, content) = try RecordBytes.split(Bytes(bytes))
      let array = content.array
      // One that an app wrote before it changed its coder is told by its first bytes.
      var coding = self.coding
      if coding != .opaque, coding != .json || array.first == UInt8(ascii: "b") || array.first == UInt8(ascii: "<") {
        let sniffed = RecordCoding.sniff(array)
        if sniffed != .opaque { coding = sniffed }
      }
      return Record(identifier: storedKey(entry.key), version: version, content: array, coding: coding)
    }
  }

  /// The records of a datastore on a server in the order of their identifiers, or a secondary index.
  struct ServedIndex: ReadableIndex {
    let datastore: ServedDatastore
    /// Nil: by identifier.
    let secondary: IndexDescriptor?

    var descriptor: IndexDescriptor {
      secondary
        ?? IndexDescriptor(
          name: "", kind: .primary, encoding: datastore.descriptor.identifierEncoding,
          valueType: datastore.descriptor.identifierType, rule: datastore.descriptor.identifierPath, isUnique: true,
          version: datastore.descriptor.version)
    }

    private func tree() throws(ModelError) -> ServerTree? {
      guard let secondary else { return datastore.tree }
      return try datastore.view.tree(.index(secondary.name, of: datastore.descriptor.key))
    }

    var count: Int {
      get throws(ModelError) {
        try tree().map { tree throws(ModelError) in try datastore.view.store.count(tree) } ?? 0
      }
    }

    func entries(at ranks: Range<Int>) throws(ModelError) -> [IndexEntry] {
      guard let tree = try tree() else { return [] }
      let ranks = ranks.clamped(to: 0..<(try count))
      guard !ranks.isEmpty else { return [] }
      let page = try onServer { () throws(ServerError) in
        try tree.page(rank: UInt64(ranks.lowerBound), limit: ranks.count)
      }
      var entries: [IndexEntry] = []
      for entry in page { entries.append(try self.entry(entry.key)) }
      return entries
    }

    private func entry(_ key: [UInt8]) throws(ModelError) -> IndexEntry {
      guard let secondary else {
        let key = datastore.descriptor.storedKey(key)
        return IndexEntry(value: key.value, identifier: key)
      }
      guard let (value, identifier) = key.withUnsafeBytes({ EntryKey.split($0) }) else {
        throw .unreadable(what: "an entry of \(secondary.name)", where: "its key cannot be taken apart")
      }
      return IndexEntry(
        value: secondary.shownValue(value), identifier: datastore.descriptor.storedKey(identifier))
    }

    func rank(of bound: KeyBound) throws(ModelError) -> Int {
      guard let tree = try tree() else { return 0 }
      let key: [UInt8]
      switch bound {
      case .start: return 0
      case .end: return try count
      case .before(let value): key = try descriptor.encoding.bound(before: value)
      case .after(let value): key = try descriptor.encoding.bound(after: value)
      }
      return Int(clamping: try onServer { () throws(ServerError) in try tree.rank(of: key) })
    }

    func rank(of identifier: StoredKey, value: KeyValue?) throws(ModelError) -> Int? {
      guard let tree = try tree() else { return nil }
      var key = identifier.bytes
      if let secondary {
        guard let value else { return try firstRank(of: identifier, in: tree) }
        key = EntryKey.make(value: try secondary.encoding.encode(value), identifier: identifier.bytes)
      }
      return try onServer { () throws(ServerError) in
        try tree.find(key) == nil ? nil : Int(clamping: try tree.rank(of: key))
      }
    }

    /// Walks the index, for nobody says under which value the record stands.
    private func firstRank(of identifier: StoredKey, in tree: ServerTree) throws(ModelError) -> Int? {
      try onServer { () throws(ServerError) in
        var cursor = tree.cursor(page: 2_000)
        var rank = 0
        try cursor.seekToStart()
        while let entry = cursor.current {
          if entry.key.withUnsafeBytes({ EntryKey.isEntry($0, of: identifier.bytes) }) { return rank }
          rank += 1
          try cursor.next()
        }
        return nil
      }
    }

    func contains(_ encodedValue: [UInt8], of identifier: StoredKey) throws(ModelError) -> Bool {
      guard let tree = try tree() else { return false }
      let key = EntryKey.make(value: encodedValue, identifier: identifier.bytes)
      return try onServer { () throws(ServerError) in try tree.find(key) != nil }
    }

    func value(parsing text: String) throws(ModelError) -> KeyValue { try descriptor.encoding.parse(text) }
  }

  /// Records of a datastore on a server: a page for each round trip.
  struct ServedRecords: RecordCursor {
    private let datastore: ServedDatastore
    private var ranks: Range<Int>
    private var page: ArraySlice<ServerEntry> = []
    private var current: ServerEntry?

    private static let pageSize = 1_000

    init(_ datastore: ServedDatastore, at ranks: Range<Int>) {
      self.datastore = datastore
      self.ranks = ranks
    }

    mutating func next() throws(ModelError) -> Bool {
      guard !ranks.isEmpty else {
        current = nil
        return false
      }
      if page.isEmpty {
        let limit = min(Self.pageSize, ranks.count)
        let (rank, last) = (ranks.lowerBound, current)
        page = try onServer { () throws(ServerError) in
          guard let last else { return try datastore.tree.page(rank: UInt64(rank), limit: limit) }
          return try datastore.tree.page(KeyRange(from: last.key + [0]), limit: limit)
        }[...]
      }
      current = page.popFirst()
      ranks = (ranks.lowerBound + 1)..<ranks.upperBound
      if current == nil { ranks = ranks.upperBound..<ranks.upperBound }
      return current != nil
    }

    var identifier: StoredKey {
      get throws(ModelError) {
        guard let current else { throw .unreadable(what: "a record", where: "the cursor stands at none") }
        return datastore.descriptor.storedKey(current.key)
      }
    }

    func rawRecord() throws(ModelError) -> RawRecord? {
      guard let current, let record = try datastore.descriptor.record(current) else { return nil }
      return RawRecord(version: record.version, bytes: Bytes(record.content), coding: record.coding)
    }
  }

  /// The difference of two commits of a store on a server, one datastore after the other.
  final class ServedChanges: ChangeReader {
    private struct State: Sendable {
      var keys: [String]?
      var walk: Walk?
    }

    private struct Walk: Sendable {
      var old: ServedDatastore?
      var new: ServedDatastore?
      var source: Source
    }

    /// Two states of one tree compared, or all of a tree that is on one side alone.
    private enum Source: Sendable {
      case difference(ServerDifferenceCursor)
      case all(ServerCursor, isNew: Bool)

      mutating func next() throws(ServerError) -> ServerDifference? {
        switch self {
        case .difference(var cursor):
          let next = try cursor.next()
          self = .difference(cursor)
          return next
        case .all(var cursor, let isNew):
          guard let entry = cursor.current else { return nil }
          try cursor.next()
          self = .all(cursor, isNew: isNew)
          return ServerDifference(key: entry.key, old: isNew ? nil : entry, new: isNew ? entry : nil)
        }
      }
    }

    private let old: ServedView?
    private let new: ServedView
    private let state = Mutex(State())

    init(from old: ServedView?, to new: ServedView) {
      self.old = old
      self.new = new
    }

    func next(_ limit: Int) throws(ModelError) -> [RecordChange] {
      try state.withLock { state throws(ModelError) in
        var changes: [RecordChange] = []
        if state.keys == nil {
          var keys = Set(try new.keys)
          if let old { keys.formUnion(try old.keys) }
          state.keys = keys.sorted(by: >)
        }
        while changes.count < limit {
          if state.walk == nil {
            guard let key = state.keys?.popLast() else { break }
            state.walk = try walk(key)
            continue
          }
          guard let next = try onServer({ () throws(ServerError) in try state.walk?.source.next() }) else {
            state.walk = nil
            continue
          }
          if let walk = state.walk, let change = try change(next, walk) { changes.append(change) }
        }
        return changes
      }
    }

    private func walk(_ key: String) throws(ModelError) -> Walk? {
      let (before, after) = (try old?.served(key), try new.served(key))
      let source = try onServer { () throws(ServerError) -> Source? in
        if let before, let after,
          let cursor = try ServerDifferenceCursor(
            from: before.view.view, to: after.view.view, tree: .records(of: key))
        {
          return .difference(cursor)
        }
        guard var cursor = (after ?? before)?.tree.cursor(page: 1_000) else { return nil }
        try cursor.seekToStart()
        return .all(cursor, isNew: after != nil)
      }
      return source.map { Walk(old: before, new: after, source: $0) }
    }

    private func change(_ difference: ServerDifference, _ walk: Walk) throws(ModelError) -> RecordChange? {
      guard let datastore = walk.new ?? walk.old else { return nil }
      let old = try difference.old.flatMap { entry throws(ModelError) in try walk.old?.descriptor.record(entry) }
      let new = try difference.new.flatMap { entry throws(ModelError) in try walk.new?.descriptor.record(entry) }
      if let old, let new, old.version == new.version, old.content == new.content { return nil }
      return RecordChange(
        datastore: datastore.descriptor.key, identifier: datastore.descriptor.storedKey(difference.key), old: old,
        new: new)
    }
  }
#endif
