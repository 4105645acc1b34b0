import StrataDocuments
package import StrataModel

/// Finds the commit that last wrote each field of a record, as seen from a commit.
package struct BlameRequest: Question, Hashable {
  package var place: RecordPlace
  package var from: CommitNumber

  /// Computes the history of the record's fields.
  package func reply(in context: WorkContext) throws(ModelError) -> BlameAnswer {
    // The values of older states are not kept.
    let life = try context.store.life(of: place, from: from, keepsValues: true, limit: 5_000) {
      read throws(ModelError) in
      try context.goOn()
      context.report(Progress(done: read, total: nil))
    }
    var answer = BlameAnswer(commits: [:], lives: [:])
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

package struct BlameAnswer: Sendable, Equatable {
  /// By the path of the field: the commit that set its value; for a list or object, the newest commit of its parts.
  package var commits: [String: CommitDetails]
  /// By the path of the field: its values, oldest first, with their commits.
  var lives: [String: [LifePoint]]
}

/// A value that a field had.
struct LifePoint: Sendable, Hashable {
  var commit: CommitNumber
  /// When it was made, in nanoseconds since 1970.
  var date: Int64
  var value: ValueText
  /// The value as a number, for the line of blocks.
  var number: Double?
}

extension Document {
  var number: Double? {
    if case .number(let text) = self { return text.double }
    return nil
  }
}
