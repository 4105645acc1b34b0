import StrataLocks

/// A letter of an inbox, as far as a list shows it.
package struct LetterNotice: Hashable, Sendable {
  package var name: LetterName
  package var isRefused: Bool
  /// The reason why it was refused, or why it cannot be read; nil if it waits and can be read.
  package var reason: String?
  package var program = ""
  package var author = ""
  package var action = ""
  package var changeCount = 0

  fileprivate init(_ name: LetterName, isRefused: Bool, reason: String?, in inbox: InboxFolder) {
    self.name = name
    self.isRefused = isRefused
    self.reason = reason
    do throws(ModelError) {
      let letter = try inbox.letter(name, isRefused: isRefused)
      (program, author, action, changeCount) = (letter.program, letter.author, letter.action, letter.changes.count)
    } catch {
      self.reason = reason ?? error.description
    }
  }
}

extension InboxFolder {
  /// The letters that wait, in the order in which they are applied, then those that were refused.
  ///
  /// - Parameters:
  ///   - limit: how many at most.
  ///   - known: letters that were listed before: their files do not change, and are not read again.
  package func notices(limit: Int = .max, known: [LetterNotice] = []) throws(ModelError) -> [LetterNotice] {
    func notice(_ name: LetterName, isRefused: Bool) -> LetterNotice {
      known.first { $0.name == name && $0.isRefused == isRefused }
        ?? LetterNotice(name, isRefused: isRefused, reason: isRefused ? reason(ofRefused: name) : nil, in: self)
    }
    let waiting = try self.waiting().prefix(limit).map { notice($0, isRefused: false) }
    return try waiting + refusedNames().prefix(limit - waiting.count).map { notice($0, isRefused: true) }
  }
}

extension EngineStore {
  /// The letters of the inbox, the first of them. Reads those that have come since it was asked last.
  package func letters(limit: Int) throws(ModelError) -> [LetterNotice] {
    guard let inbox else { return [] }
    let letters = try inbox.notices(limit: limit, known: knownLetters.withLock { $0 })
    knownLetters.withLock { $0 = letters }
    return letters
  }
}
