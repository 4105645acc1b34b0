import StrataDocuments
import StrataEngine
import StrataModel

// An announced reading as members of a request: {"read":"entries","tree":"RENpdHk=","at":12,"from":40,"to":80}

extension AnnouncedReading {
  var members: [Document.Member] {
    func number(_ value: some FixedWidthInteger) -> Document { .number(NumberText(value)) }
    func kind(_ name: String) -> Document.Member { .init("read", .string(name)) }
    switch self {
    case .outline(let commit): return [kind("outline"), .init("at", number(commit.rawValue))]
    case .commits(let newest, let limit, let folded):
      return [
        kind("commits"), .init("open", .string(newest.map { "\($0.rawValue)" }.joined(separator: " "))),
        .init("limit", number(limit)), .init("folded", .bool(folded)),
      ]
    case .name(let name): return [kind("name"), .init("name", .string(name))]
    case .keys(let keys, let tree, let commit):
      return [kind("keys"), .init("keys", .array(keys.map { .string(Base64.text(of: $0)) }))]
        + Self.place(tree, commit)
    case .entries(let ranges, let tree, let commit):
      let texts = ranges.map { "\($0.lowerBound)-\($0.upperBound)" }
      return [kind("entries"), .init("ranks", .array(texts.map { .string($0) }))] + Self.place(tree, commit)
    case .changes(let old, let new):
      return [kind("changes"), .init("at", number(new.rawValue))]
        + (old.map { [.init("from", number($0.rawValue))] } ?? [])
    case .versions(let key, let datastore, let newest, let limit):
      return [
        kind("versions"), .init("key", .string(Base64.text(of: key))), .init("datastore", .string(datastore)),
        .init("at", number(newest.rawValue)), .init("limit", number(limit)),
      ]
    }
  }

  private static func place(_ tree: TreeName, _ commit: CommitNumber) -> [Document.Member] {
    [.init("tree", .string(Base64.text(of: tree.bytes))), .init("at", .number(NumberText(commit.rawValue)))]
  }

  /// Returns nil if a request names no reading.
  init?(_ line: StreamLine) {
    func count(_ name: String) -> Int? { line.number(name).map { Int(clamping: $0) } }
    let commit = line.number("at").map { CommitNumber($0) }
    let tree = line.base64("tree").map { TreeName($0) }
    switch (line.text("read"), commit) {
    case ("outline", let commit?): self = .outline(commit)
    case ("commits", _):
      guard let open = line.text("open"), let limit = count("limit") else { return nil }
      let numbers = open.split(separator: " ").prefix(1_000).compactMap { UInt64($0) }
      self = .commits(
        from: numbers.map { CommitNumber($0) }, limit: min(limit, 1_000), folded: line.document("folded") == true)
    case ("name", _):
      guard let name = line.text("name") else { return nil }
      self = .name(name)
    case ("keys", let commit?):
      guard let texts = line.texts("keys"), let tree else { return nil }
      self = .keys(texts.compactMap { Base64.bytes(of: $0) }, in: tree, at: commit)
    case ("entries", let commit?):
      guard let tree, let texts = line.texts("ranks") else { return nil }
      let ranges = texts.compactMap { text in
        let ends = text.split(separator: "-").compactMap { Int($0) }
        return ends.count == 2 && ends[0] <= ends[1] ? ends[0]..<ends[1] : nil
      }
      self = .entries(ranges, in: tree, at: commit)
    case ("changes", let commit?): self = .changes(from: line.number("from").map { CommitNumber($0) }, to: commit)
    case ("versions", let commit?):
      guard let key = line.base64("key"), let datastore = line.text("datastore"), let limit = count("limit") else {
        return nil
      }
      self = .versions(of: key, in: datastore, from: commit, limit: min(limit, 1_000))
    default: return nil
    }
  }

  /// Whether it is of more rows than a screen has.
  var isLong: Bool {
    guard case .entries(let ranges, _, _) = self else { return false }
    return ranges.reduce(0) { $0 + $1.count } > 1_000
  }

  /// Whether a record that is looked up may be one of this page of entries.
  func hasRecord(of other: AnnouncedReading) -> Bool {
    guard case .entries(_, let tree, let commit) = self, case .keys(_, let records, let same) = other else {
      return false
    }
    return commit == same && records.datastoreKey == tree.indexName?.datastore ?? tree.datastoreKey
  }

  /// Whether another reading is likely to go on where this one ended.
  func leads(to other: AnnouncedReading) -> Bool {
    switch (self, other) {
    case (.entries(let first, let tree, let commit), .entries(let next, let sameTree, let sameCommit)):
      tree == sameTree && commit == sameCommit
        && first.lexicographicallyPrecedes(next) { $0.lowerBound < $1.lowerBound }
    default: self == other
    }
  }
}
