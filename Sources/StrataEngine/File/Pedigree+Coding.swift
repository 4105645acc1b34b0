/// The part of a record behind its list of superseded entries, where the first programs do not read.
struct RecordTail: Sendable {
  var pedigree: Pedigree?
  /// How many bytes right before the frame were not durable yet when it was written; nil if the record does not say.
  var undurable: UInt64?

  private static let noPedigree: UInt8 = 0
  private static let undurableTag: UInt8 = 1
  private static let clockTag: UInt8 = 2

  /// The writer's own clock, in nanoseconds since 1970, if the commit's date is a parent's and later; nil if it is the date.
  var clock: Int64?

  func encode(into buffer: ByteBuffer) {
    if let pedigree { pedigree.encode(into: buffer) }
    if pedigree == nil, undurable != nil || clock != nil { buffer.append(byte: Self.noPedigree) }
    if let undurable {
      buffer.append(byte: Self.undurableTag)
      buffer.append(varint: undurable)
    }
    if let clock {
      buffer.append(byte: Self.clockTag)
      buffer.append(clock)
    }
  }
}

extension RecordTail {
  /// Reads past the list of superseded entries. The fields are in ascending order of their tags. Reading ends at an unknown field, which a
  /// later program may have added.
  init(behind superseded: UInt64, _ reader: inout ByteReader) throws(StorageError) {
    self.init()
    guard UInt64(reader.remaining) > superseded else { return }
    for _ in 0..<superseded { _ = try reader.varint() }
    guard reader.remaining > 0 else { return }
    switch try reader.byte() {
    case Self.noPedigree: break
    case Pedigree.form: pedigree = try Pedigree(&reader)
    default: return
    }
    while reader.remaining > 0 {
      switch try reader.byte() {
      case Self.undurableTag: undurable = try reader.varint()
      case Self.clockTag: clock = try reader.fixed()
      default: return
      }
    }
  }
}

extension Pedigree {
  fileprivate static let form: UInt8 = 1

  fileprivate func encode(into buffer: ByteBuffer) {
    buffer.append(byte: Self.form)
    buffer.append(varint: parents.map { UInt64($0.count) + 1 } ?? 0)
    for parent in parents ?? [] { buffer.append(identity: parent) }
    buffer.append(byte: undoes == nil ? 0 : 1)
    if let undoes { buffer.append(identity: undoes) }
    buffer.append(varint: UInt64(squashed.count))
    for run in squashed {
      buffer.append(identity: CommitIdentity(origin: run.origin, number: run.numbers.lowerBound))
      buffer.append(varint: run.numbers.upperBound - run.numbers.lowerBound)
      buffer.append(varint: UInt64(run.parents.count))
      for parent in run.parents { buffer.append(identity: parent) }
    }
  }

  /// Reads the part behind the form byte.
  fileprivate init(_ reader: inout ByteReader) throws(StorageError) {
    self.init()
    let parentCount = try reader.varint()
    if parentCount > 0 { parents = try reader.identities(parentCount - 1) }
    if try reader.byte() != 0 { undoes = try reader.identity() }
    for _ in 0..<(try reader.varint()) {
      let first = try reader.identity()
      let (last, isTooFar) = first.number.addingReportingOverflow(try reader.varint())
      guard !isTooFar else { throw reader.damage }
      let parentCount = try reader.varint()
      squashed.append(
        Run(origin: first.origin, numbers: first.number...last, parents: try reader.identities(parentCount)))
    }
  }
}

extension ByteBuffer {
  fileprivate func append(identity: CommitIdentity) {
    append(identity.origin)
    append(varint: identity.number)
  }
}

extension ByteReader {
  fileprivate mutating func identity() throws(StorageError) -> CommitIdentity {
    CommitIdentity(origin: try fixed(), number: try varint())
  }

  fileprivate mutating func identities(_ count: UInt64) throws(StorageError) -> [CommitIdentity] {
    var identities: [CommitIdentity] = []
    for _ in 0..<count { identities.append(try identity()) }
    return identities
  }
}

extension DataFile {
  /// The part behind the list of superseded entries of a commit's record.
  func tail(of commit: CommitRecord) throws(StorageError) -> RecordTail {
    let list = commit.links.superseded
    guard UInt64(list.length) > list.count else { return RecordTail() }
    let bytes = try bytes(at: list.offset, count: list.length, what: "commit record")
    return try bytes.withUnsafeBytes { bytes throws(StorageError) in
      var reader = ByteReader(bytes, what: "commit record", offset: list.offset)
      return try RecordTail(behind: list.count, &reader)
    }
  }

  /// The clock of a commit's writer, in nanoseconds since 1970. It is the date, unless that is a parent's date: then the clock may have
  /// been behind. Reads the record again in that case only.
  func clock(of commit: CommitRecord) throws(StorageError) -> Int64 {
    guard commit.mayHaveOwnClock else { return commit.date }
    return min(try tail(of: commit).clock ?? commit.date, commit.date)
  }

  func pedigree(of commit: CommitRecord) throws(StorageError) -> Pedigree? { try tail(of: commit).pedigree }

  /// The identities of the commits that a commit was made on. `pedigree`: the commit's own.
  func parents(of commit: CommitRecord, _ pedigree: Pedigree?) throws(StorageError) -> [CommitIdentity] {
    if let parents = pedigree?.parents { return parents }
    return try commit.links.parents.map { link throws(StorageError) in try record(link).identity }
  }

  /// Visits commits in the order of the file, from the newest one back, with the start of each frame; `visit` returns whether to go on.
  func forEachDescent(
    from newest: CommitLink, _ visit: (CommitDescent, _ offset: FileOffset) throws(StorageError) -> Bool
  ) throws(StorageError) {
    guard newest.number > 0 else { return }
    try walk(from: record(newest, isBare: true), along: \.order, isBare: true) { record throws(StorageError) in
      try visit(CommitDescent(of: record, try pedigree(of: record)), record.links.own.offset)
    }
  }
}

extension CommitRecord {
  /// Whether the clock of its writer may be another time than its date. The parent that a date was taken from may have been squashed.
  var mayHaveOwnClock: Bool {
    flags.contains(.squashed) || links.parents.contains { $0.date == date }
  }
}

extension FileStore {
  package func pedigree(of commit: CommitRecord) throws(StorageError) -> Pedigree? {
    let (file, commit) = try found(commit)
    return try file.pedigree(of: commit)
  }

  package func forEachDescent(_ visit: (CommitDescent) throws(StorageError) -> Bool) throws(StorageError) {
    let state = publication.current
    try state.file.forEachDescent(from: state.newest.links.own) { descent, _ throws(StorageError) in try visit(descent)
    }
  }

  /// Whether the data has a feature because of which older programs must refuse it.
  package func has(_ feature: StoreFeature) -> Bool { publication.current.file.header.has(feature) }

  /// Makes sure that commits of other stores may be taken in. If the store was made without that feature, its file is written again, once,
  /// with all its history.
  package func admitCommitsOfOthers() throws(StorageError) {
    if has(.commitsOfOthers) { return }
    try refresh()
    if has(.commitsOfOthers) { return }
    _ = try compact(.all, switching: (.commitsOfOthers, isOn: true))
  }
}
