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
  /// Whether the versions were read as far as the result depends on them.
  package var isComplete = true
}

extension ReadableStore {
  /// Returns the history of a record's parts, as seen from a commit.
  ///
  /// A part of an object is identified by its name. Lists are compared as lists: an inserted or removed element does not change the others.
  ///
  /// - Parameters:
  ///   - keepsValues: whether the values are wanted, which requires reading all versions.
  ///   - limit: how many versions are read at most.
  ///   - goOn: called now and then with the versions read so far; throws to end the work.
  /// - Returns: nothing if the record does not exist.
  package func life(
    of record: RecordPlace, from newest: CommitNumber, keepsValues: Bool = false, limit: Int = .max,
    goOn: (Int) throws(ModelError) -> Void = { _ throws(ModelError) in }
  ) throws(ModelError) -> RecordLife {
    var walk = VersionWalk(self, record, from: newest)
    guard let first = try walk.next(), let document = try first.record?.document() else { return RecordLife() }
    let trace = PartTrace(.root, document)
    var later: (commit: CommitDetails, document: Document?) = (first.commit, document)
    var read = 1
    var isComplete = false
    while read < limit, keepsValues || !trace.isSettled {
      guard let version = try walk.next() else {
        isComplete = true
        break
      }
      let document = try version.record?.document()
      trace.apply(later.document, over: document, in: later.commit, keepsValues: keepsValues)
      later = (version.commit, document)
      read += 1
      if read.isMultiple(of: 64) { try goOn(read) }
    }
    if !isComplete { isComplete = !keepsValues && trace.isSettled }
    if !isComplete { isComplete = try walk.next() == nil }
    trace.apply(later.document, over: nil, in: later.commit, keepsValues: keepsValues)
    return RecordLife(parts: trace.parts, isComplete: isComplete)
  }
}

/// A part of a record's document, with the history found in the versions read so far.
private final class PartTrace {
  private let path: DocumentPath
  /// Its name or position in its container, in the version being read; nil if it did not exist there.
  private var place: DocumentPath.Component?
  private var commit: CommitDetails?
  /// Newest first.
  private var values: [(commit: CommitDetails, value: Document)] = []
  private let children: [PartTrace]

  init(_ path: DocumentPath, _ value: Document) {
    self.path = path
    place = path.components.last
    children =
      switch value {
      case .object(let members): members.map { PartTrace(path.appending($0.name), $0.value) }
      case .array(let elements): elements.enumerated().map { PartTrace(path.appending($0.offset), $0.element) }
      default: []
      }
  }

  var isSettled: Bool { commit != nil && children.allSatisfy(\.isSettled) }

  var parts: [RecordLife.Part] {
    let own = commit.map { RecordLife.Part(path: path, commit: $0, values: values.reversed()) }
    return [own].compactMap { $0 } + children.flatMap(\.parts)
  }

  /// Takes the change of the part by a commit into account.
  func apply(_ new: Document?, over old: Document?, in commit: CommitDetails, keepsValues: Bool) {
    guard new != old else { return }
    if self.commit == nil { self.commit = commit }
    if keepsValues, let new, !new.isContainer(like: old) { values.append((commit, new)) }
    guard !children.isEmpty else { return }
    let origins = Document.origins(of: new?.elements ?? [], in: old?.elements ?? [])
    for child in children {
      switch child.place {
      case .member(let name)?:
        child.apply(new?[member: name], over: old?[member: name], in: commit, keepsValues: keepsValues)
      case .index(let index)?:
        let origin = origins.indices.contains(index) ? origins[index] : nil
        child.apply(
          new?.elements[index], over: origin.flatMap { old?.elements[$0] }, in: commit, keepsValues: keepsValues)
        child.place = origin.map { .index($0) }
      case nil: break
      }
    }
  }
}

extension Document {
  fileprivate var elements: [Document] { if case .array(let elements) = self { elements } else { [] } }

  /// Whether both are objects, or both are lists.
  fileprivate func isContainer(like other: Document?) -> Bool {
    switch (self, other) {
    case (.object, .object?), (.array, .array?): true
    default: false
    }
  }
}
