package import StrataDocuments

/// The history of a record's parts, computed from its versions. It costs nothing at write time.
package struct RecordLife: Sendable {
  /// A field, or a list or an object with all its contents.
  package struct Part: Sendable {
    package var path: DocumentPath
    /// The newest commit that changed the field, or anything in the list or the object.
    package var commit: CommitDetails
    /// Its values, oldest first, if the caller wants them; for a list or an object those with which it was created.
    package var values: [(commit: CommitDetails, value: Document)]
  }

  /// In the order of the document; a container comes before its contents.
  package var parts: [Part] = []
}

extension ReadableStore {
  /// Returns the history of a record's parts, as seen from a commit.
  ///
  /// A part of an object is identified by its name. Lists are compared as lists: an inserted or removed element does not change the others.
  /// If a merge has a part from its second parent, the commit of the part is the one that changed it there.
  ///
  /// - Parameters:
  ///   - path: the part that is asked for, with its contents. Only names of members lead to it.
  ///   - keepsValues: whether the values are wanted, which requires reading all versions.
  ///   - limit: of how many versions the values are kept; if they are not wanted, how many versions are read at most.
  ///   - goOn: called now and then with the versions read so far; throws to end the work.
  /// - Returns: nothing if the record does not exist.
  package func life(
    of record: RecordPlace, at path: DocumentPath = .root, from newest: CommitNumber, keepsValues: Bool = false,
    limit: Int = .max, goOn: (Int) throws(ModelError) -> Void = { _ throws(ModelError) in }
  ) throws(ModelError) -> RecordLife {
    let first = try versions(of: record.identifier, in: record.datastore, from: newest, limit: 1).first
    guard let document = try first?.record?.document() else { return RecordLife() }
    let trace = PartTrace(path, document[path])
    var reading = LifeReading(store: self, record: record, limit: keepsValues ? .max : limit)
    try reading.follow(trace, from: newest, values: keepsValues ? limit : 0, goOn)
    return RecordLife(parts: trace.parts)
  }
}

/// Reads the versions of a record backwards, along each line of commits that one of its parts came by.
private struct LifeReading {
  /// Parts whose values are those of the record as of a commit.
  struct Line {
    var traces: [PartTrace]
    var newest: CommitNumber
  }

  let store: any ReadableStore
  let record: RecordPlace
  let limit: Int
  var read = 0
  /// Lines that are still to be read. They are listed instead of being read at once, because a line may lead to the next one as often as
  /// there are merges.
  var open: [Line] = []
  /// The parts that are followed along another line, each with the copy that is followed there.
  var moved: [(part: PartTrace, copy: PartTrace)] = []

  /// Finds the commits of a part and its contents, whose values are those of the record as of a commit.
  mutating func follow(
    _ trace: PartTrace, from newest: CommitNumber, values: Int, _ goOn: (Int) throws(ModelError) -> Void
  ) throws(ModelError) {
    try follow(Line(traces: [trace], newest: newest), values: values, goOn)
    while let line = open.popLast() { try follow(line, values: 0, goOn) }
    // The parts of a copy may have been followed along a third line.
    for (part, copy) in moved.reversed() { part.takeCommits(of: copy) }
  }

  private mutating func follow(_ line: Line, values: Int, _ goOn: (Int) throws(ModelError) -> Void) throws(ModelError) {
    let traces = line.traces
    var walk = VersionWalk(store, record, from: line.newest)
    guard let first = try walk.next() else { return }
    var later = (commit: first.commit, document: try first.record?.document())
    read += 1
    while read < limit, read < values || !traces.allSatisfy(\.isSettled), let version = try walk.next() {
      let earlier = (commit: version.commit, document: try version.record?.document())
      try apply(later.commit, to: traces, later.document, over: earlier.document, read <= values)
      later = earlier
      read += 1
      if read.isMultiple(of: 64) { try goOn(read) }
    }
    try apply(later.commit, to: traces, later.document, over: nil, read <= values)
  }

  /// Takes the change of the record by a commit into account. The parts that a merge has from its second parent are followed from there.
  private mutating func apply(
    _ commit: CommitDetails, to traces: [PartTrace], _ new: Document?, over old: Document?, _ keepsValues: Bool
  ) throws(ModelError) {
    if let second = commit.parents.dropFirst().first, let other = try document(at: second) {
      let copies = traces.flatMap { $0.partsMerged(new?[$0.path], over: old?[$0.path], from: other[$0.path]) }
        .map { part in (part: part, copy: part.movedElsewhere()) }
      moved += copies
      if !copies.isEmpty { open.append(Line(traces: copies.map(\.copy), newest: second)) }
    }
    for trace in traces { trace.apply(new?[trace.path], over: old?[trace.path], in: commit, keepsValues) }
  }

  /// The record as of a commit; nil if it does not exist there, or if the commit is pruned.
  private func document(at commit: CommitNumber) throws(ModelError) -> Document? {
    do {
      let versions = try store.versions(of: record.identifier, in: record.datastore, from: commit, limit: 1)
      return try versions.first?.record?.document()
    } catch .noSuchCommit, .noSuchDatastore {
      return nil
    }
  }
}

/// A part of a record's document, with the history found in the versions read so far.
private final class PartTrace {
  let path: DocumentPath
  /// Its name or position in its container, in the version being read; nil if it did not exist there.
  private var place: DocumentPath.Component?
  private var commit: CommitDetails?
  /// Whether a copy is followed to its commit, along another line.
  private var isElsewhere = false
  /// Newest first.
  private var values: [(commit: CommitDetails, value: Document)] = []
  private let children: [PartTrace]

  init(_ path: DocumentPath, _ value: Document?) {
    self.path = path
    place = path.components.last
    children =
      switch value {
      case .object(let members)?: members.map { PartTrace(path.appending($0.name), $0.value) }
      case .array(let elements)?: elements.enumerated().map { PartTrace(path.appending($0.offset), $0.element) }
      default: []
      }
  }

  private init(copying other: PartTrace) {
    (path, place, commit, isElsewhere) = (other.path, other.place, other.commit, other.isElsewhere)
    children = other.children.map { $0.movedElsewhere() }
  }

  /// Whether nothing more is to be read for its commit, and those of its contents, along this line.
  var isSettled: Bool { (commit != nil || isElsewhere) && children.allSatisfy(\.isSettled) }

  var parts: [RecordLife.Part] {
    let own = commit.map { RecordLife.Part(path: path, commit: $0, values: values.reversed()) }
    return [own].compactMap { $0 } + children.flatMap(\.parts)
  }

  /// Takes the change of the part by a commit into account.
  func apply(_ new: Document?, over old: Document?, in commit: CommitDetails, _ keepsValues: Bool) {
    guard new != old else { return }
    if self.commit == nil, !isElsewhere { self.commit = commit }
    if keepsValues, let new, !new.isContainer(like: old) { values.append((commit, new)) }
    guard !children.isEmpty else { return }
    let (members, oldMembers) = (new?.values ?? [:], old?.values ?? [:])
    let origins = Document.origins(of: new?.elements ?? [], in: old?.elements ?? [])
    for child in children {
      switch child.place {
      case .member(let name)?:
        let name = Array(name.utf8)
        child.apply(members[name], over: oldMembers[name], in: commit, keepsValues)
      case .index(let index)?:
        let origin = origins.indices.contains(index) ? origins[index] : nil
        child.apply(new?.elements[index], over: origin.flatMap { old?.elements[$0] }, in: commit, keepsValues)
        child.place = origin.map { .index($0) }
      case nil: break
      }
    }
  }

  // MARK: Merges

  /// The largest parts without a commit that a version of this part has from another version, and not from the one that it was made on.
  /// Elements of a list that differs from the other version's do not count.
  func partsMerged(_ new: Document?, over old: Document?, from other: Document?) -> [PartTrace] {
    if new == old || isSettled { return [] }
    if new == other { return [self] }
    let (members, oldMembers, others) = (new?.values ?? [:], old?.values ?? [:], other?.values ?? [:])
    return children.flatMap { child in
      guard case .member(let text)? = child.place else { return [] as [PartTrace] }
      let name = Array(text.utf8)
      return child.partsMerged(members[name], over: oldMembers[name], from: others[name])
    }
  }

  /// Returns a copy without the values, which finds the commits of this part and its contents along another line.
  func movedElsewhere() -> PartTrace {
    defer { isElsewhere = true }
    return PartTrace(copying: self)
  }

  /// Takes over the commits that were found by following a copy of this part.
  func takeCommits(of copy: PartTrace) {
    commit = copy.commit
    for (child, other) in zip(children, copy.children) { child.takeCommits(of: other) }
  }
}

extension Document {
  /// The values of an object's members by the bytes of their names.
  fileprivate var values: [[UInt8]: Document] {
    if case .object(let members) = self { members.valuesByName } else { [:] }
  }

  fileprivate var elements: [Document] { if case .array(let elements) = self { elements } else { [] } }

  /// Whether both are objects, or both are lists.
  fileprivate func isContainer(like other: Document?) -> Bool {
    switch (self, other) {
    case (.object, .object?), (.array, .array?): true
    default: false
    }
  }
}
