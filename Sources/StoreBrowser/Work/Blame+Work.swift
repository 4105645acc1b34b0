import Documents
package import DatastoreModel

/// Who last wrote each field of a record, as seen from a commit.
package struct BlameRequest: Sendable, Hashable {
  package var place: RecordPlace
  package var from: CommitNumber
}

package struct BlameAnswer: Sendable {
  package var request: BlameRequest
  /// By the path of the field: the commit that gave it its value; of a list or object, the newest of its parts.
  package var commits: [String: Commit]
  /// By the path of the field: the values it had, oldest first, with the commits that gave them.
  var lives: [String: [LifePoint]]
  /// Whether the history was read to its beginning.
  package var isComplete: Bool
}

/// A value that a field got.
struct LifePoint: Sendable, Hashable {
  var commit: CommitNumber
  /// When it was made, in nanoseconds since 1970.
  var date: Int64
  var value: ValueText
  /// The value as a number, for the line of blocks.
  var number: Double?
}

extension WorkContext {
  /// How many states of a record blame looks through.
  static var blameDepth: Int { 5000 }

  /// Walks the record's states from new to old and notes where each leaf got its value.
  func blame(_ request: BlameRequest) throws(ModelError) -> BlameAnswer {
    var answer = BlameAnswer(request: request, commits: [:], lives: [:], isComplete: true)
    var newest: CommitNumber? = request.from
    var later: (commit: Commit, document: Document?)?
    var read = 0
    while let from = newest, read < Self.blameDepth {
      try goOn()
      let versions = try store.versions(
        of: request.place.identifier, in: request.place.datastore, from: from, limit: 100)
      for version in versions {
        let document = try version.record?.document()
        if let later { note(later.document, in: later.commit, over: document, in: &answer) }
        later = (version.commit, document)
      }
      read += versions.count
      newest = versions.count == 100 ? versions.last?.commit.parents.first : nil
      report(Progress(done: read, total: nil))
    }
    if let later { note(later.document, in: later.commit, over: nil, in: &answer) }
    answer.isComplete = newest == nil
    for path in answer.lives.keys { answer.lives[path]?.reverse() }
    return answer
  }

  private func note(_ new: Document?, in commit: Commit, over old: Document?, in answer: inout BlameAnswer) {
    guard let new else { return }
    let base = old ?? .object([])
    for change in Document.difference(base, new) {
      // The walk goes from new to old: the first commit that touched a part is the newest of its container.
      for container in change.path.ancestors where answer.commits[container.description] == nil {
        answer.commits[container.description] = commit
      }
      guard let value = change.new else { continue }
      for path in Self.leaves(of: value, under: change.path) {
        if answer.commits[path.text] == nil { answer.commits[path.text] = commit }
        answer.lives[path.text, default: []].append(
          LifePoint(
            commit: commit.number, date: commit.date, value: ValueText(literal: path.value), number: path.value.number))
      }
    }
  }

  private static func leaves(of value: Document, under path: DocumentPath) -> [(text: String, value: Document)] {
    let inner = value.fields
    if value.isLeaf || inner.isEmpty { return [(path.description, value)] }
    return [(path.description, value)]
      + inner.map { field in
        let text = field.path.description
        return (path.description + (text == "." ? "" : text), field.value)
      }
  }
}

extension DocumentPath {
  /// The places around this one, from the nearest to the root.
  fileprivate var ancestors: [DocumentPath] {
    var ancestors: [DocumentPath] = []
    var here = self
    while let parent = here.parent {
      ancestors.append(parent)
      here = parent
    }
    return ancestors
  }
}

extension Document {
  /// The value as a number, where it is one.
  var number: Double? {
    if case .number(let text) = self { return text.quickDouble }
    return nil
  }
}
