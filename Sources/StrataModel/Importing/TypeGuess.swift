package import StrataDocuments

/// The type of a field, guessed from all values that it has in the documents of an import or the records of a
/// datastore.
package struct TypeGuess {
  private var integers = 0
  private var otherNumbers = 0
  /// Whether two numbers may be different and the same as doubles.
  private var isBeyondDouble = false
  private var texts = 0
  private var flags = 0
  private var dates = 0
  private var datas = 0
  private var nothings = 0

  package mutating func see(_ field: Document?) {
    if case .number(let number)? = field, number.text.utf8.count > 15, number.isFinite {
      isBeyondDouble = isBeyondDouble || NumberText(number.double) != number
    }
    switch field {
    case .number(let number)? where number.isInteger: integers += 1
    case .number?: otherNumbers += 1
    case .string?: texts += 1
    case .bool?: flags += 1
    case .date?: dates += 1
    case .data?: datas += 1
    case nil, .null?: nothings += 1
    case .array?, .object?: break
    }
  }

  /// The encoding that most values have; one that fits none of them is a rejected document. Numbers are integers where
  /// all of them are.
  package var encoding: (encoding: KeyEncoding, swiftName: String) {
    let numbers = integers + otherNumbers
    let candidates: [(Int, KeyEncoding, String)] = [
      (texts, .string, "String"),
      otherNumbers == 0
        ? (numbers, .integer, "Int")
        : isBeyondDouble ? (numbers, .decimal, "Decimal") : (numbers, .double, "Double"),
      (flags, .bool, "Bool"), (dates, .date, "Date"), (datas, .data, "Data"),
    ]
    var best = candidates[0]
    for candidate in candidates where candidate.0 > best.0 { best = candidate }
    return nothings > 0 ? (.optional(best.1), "Optional<\(best.2)>") : (best.1, best.2)
  }

  /// Whether a value of a known type was seen.
  var hasValues: Bool { integers + otherNumbers + texts + flags + dates + datas > 0 }

  /// As `encoding`, for what is always there.
  var requiredEncoding: (encoding: KeyEncoding, swiftName: String) {
    var guess = self
    guess.nothings = 0
    return guess.encoding
  }
}
