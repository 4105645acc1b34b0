import Documents
package import DatastoreModel

/// Who last wrote each field of a record, as seen from a commit.
package struct BlameRequest: Sendable, Hashable {
  package var place: RecordPlace
  package var from: CommitNumber
}

package struct BlameAnswer: Sendable, Equatable {
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

  /// How the fields of the record came to be what they are.
  func blame(_ request: BlameRequest) throws(ModelError) -> BlameAnswer {
    let life = try store.life(of: request.place, from: request.from, keepsValues: true, limit: Self.blameDepth) {
      read throws(ModelError) in
      try goOn()
      report(Progress(done: read, total: nil))
    }
    var answer = BlameAnswer(request: request, commits: [:], lives: [:], isComplete: life.isComplete)
    for part in life.parts {
      let path = part.path.description
      answer.commits[path] = part.commit
      answer.lives[path] = part.values.map { commit, value in
        LifePoint(commit: commit.number, date: commit.date, value: ValueText(literal: value), number: value.number)
      }
    }
    return answer
  }
}

extension Document {
  /// The value as a number, where it is one.
  var number: Double? {
    if case .number(let text) = self { return text.double }
    return nil
  }
}
