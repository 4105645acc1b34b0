import StrataModel
import StrataDocuments

/// A completion of the word at the cursor of a prompt.
struct Completion: Sendable, Hashable {
  /// The text that replaces the word.
  var text: String
  /// The meaning of a name: `field, indexed`, `index of .population`; empty if the words before it say that.
  var detail: String
  /// The word, in grapheme clusters of the line.
  var word: Range<Int>
}

/// The possible words of a condition in a datastore.
struct ConditionVocabulary: Sendable, Hashable {
  struct Field: Sendable, Hashable {
    var name: String
    var detail: String
    var isText: Bool
  }

  var fields: [Field] = []
  /// Existing values, as they are typed, by field.
  var values: [String: [String]] = [:]

  /// The most frequent ones first.
  private static let operators = [
    "=", ">", "<", "between", "in (", "!=", ">=", "<=", "is null", "is not null", "has",
  ]
  private static let textOperators = [
    "=", "contains", "starts with", "in (", "!=", "ends with", "like", "=~ /", "between", ">", "<", ">=", "<=",
    "is null", "is not null", "has",
  ]
  private static let connectives = ["and", "or"]
  /// The largest number of offered values: each costs a look-up.
  static let valueLimit = 8

  /// If a value is expected: its field, and the part of the value that is typed.
  func valueAsked(_ text: String, cursor: Int) -> (field: String, typed: String)? {
    let word = TypedWord(text, cursor: cursor)
    guard case .value(let field) = word.expects else { return nil }
    return (field, word.typed)
  }

  func completions(_ text: String, cursor: Int) -> [Completion] {
    let word = TypedWord(text, cursor: cursor)
    func matching(_ words: [(text: String, detail: String)]) -> [Completion] {
      words.filter { Self.begins($0.text, word.typed) && $0.text != word.typed }.map {
        Completion(text: $0.text, detail: $0.detail, word: word.range)
      }
    }
    switch word.expects {
    case .field: return matching(fields.map { ($0.name, $0.detail) } + [("not", "the opposite")])
    case .comparison(let field):
      let isText = fields.first { $0.name == field }?.isText ?? true
      return matching((isText ? Self.textOperators : Self.operators).map { ($0, "") })
    case .value(let field): return matching((values[field] ?? []).map { ($0, "") })
    case .connective: return matching(Self.connectives.map { ($0, "") })
    }
  }

  /// Whether a word begins so, in either case. One in quotes is typed without them.
  static func begins(_ word: String, _ typed: String) -> Bool {
    let (word, typed) = (word.lowercased(), typed.lowercased())
    return word.hasPrefix(typed) || word.hasPrefix("\"" + typed)
  }

  /// The text before the cursor, as far as it determines the next word.
  private struct TypedWord {
    enum Expected { case field, comparison(of: String), value(of: String), connective }

    var expects = Expected.field
    var typed = ""
    /// In characters of the line.
    var range = 0..<0

    init(_ text: String, cursor: Int) {
      let characters = Array(text.prefix(cursor))
      var words: [(text: String, start: Int)] = []
      var at = 0
      while at < characters.count {
        if characters[at] == " " || characters[at] == "(" || characters[at] == ","
          || characters[at] == "!" && words.isEmpty
        {
          if characters[at] == ",", case .connective = expects, let field = lastField { expects = .value(of: field) }
          at += 1
          continue
        }
        let start = at
        if characters[at] == "\"" || characters[at] == "'" {
          let quote = characters[at]
          at += 1
          while at < characters.count, characters[at] != quote { at += characters[at] == "\\" ? 2 : 1 }
          at = min(characters.count, at + 1)
        } else {
          while at < characters.count, characters[at] != " ", characters[at] != "(", characters[at] != "," { at += 1 }
        }
        words.append((String(characters[start..<at]), start))
        // The last word is still being typed, unless a blank ended it.
        if at < characters.count { read(words[words.count - 1].text) }
      }
      if let last = words.last, last.start + last.text.count == characters.count {
        typed = last.text
        range = last.start..<characters.count
      } else {
        range = characters.count..<characters.count
      }
    }

    private var lastField: String?
    private var isBetween = false

    private mutating func read(_ token: String) {
      switch expects {
      case .field:
        if token == "not" { return }
        lastField = token
        expects = .comparison(of: token)
      case .comparison(let field):
        switch token {
        case "is", "not", "starts", "ends": break
        case "null": expects = .connective
        case "and", "or": expects = .field
        default:
          isBetween = token == "between"
          expects = .value(of: field)
        }
      case .value(let field):
        if token == "with" || token == "in" { return }
        expects = isBetween ? .value(of: field) : .connective
        if isBetween, token == "and" { isBetween = false }
      case .connective: expects = token == "and" || token == "or" ? .field : .connective
      }
    }
  }
}

/// Finds values of a field with a prefix: from an index if there is one, otherwise from some records.
struct ValuesRequest: Question, Hashable {
  static let slot = WorkSlot(name: "values")
  var datastore: String
  var commit: CommitNumber
  var field: String
  var typed: String

  struct Reply: Sendable {
    var request: ValuesRequest
    /// As they are typed in a condition.
    var values: [String]
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    let datastore = try context.datastore(datastore, at: commit)
    let index = datastore.indexes.first {
      !$0.descriptor.isStale && ($0.descriptor.name == field || $0.descriptor.documentPath?.shortText == field)
    }
    if let index { return Reply(request: self, values: try values(of: index)) }
    return Reply(request: self, values: try values(in: datastore))
  }

  /// Returns the distinct keys from the typed text on; a search after each key finds the next.
  private func values(of index: any ReadableIndex) throws(ModelError) -> [String] {
    let isText = index.descriptor.encoding.isText
    let beginning = typed.drop { $0 == "\"" }
    let isBegun = isText && !beginning.isEmpty
    let first = isBegun ? .string(String(beginning)) : typed.isEmpty ? nil : (try? index.value(parsing: typed))
    var rank = 0
    if let first { rank = try index.rank(of: .before(first)) }
    var values: [String] = []
    while values.count < ConditionVocabulary.valueLimit, let entry = try index.entries(at: rank..<rank + 1).first {
      if case .string(let text) = entry.value, isText, !text.hasPrefix(beginning) { break }
      if let literal = ValueText(key: entry.value).filterLiteral { values.append(literal) }
      rank = try index.rank(of: .after(entry.value))
    }
    return values
  }

  private func values(in datastore: any ReadableDatastore) throws(ModelError) -> [String] {
    guard let path = try? DocumentPath(parsing: field) else { return [] }
    var records = try datastore.records(at: 0..<200)
    var values: [String] = []
    let selection = DocumentSelection([path])
    while values.count < ConditionVocabulary.valueLimit, try records.next() {
      // One that cannot be read has no values to offer.
      guard let document = try? records.rawRecord()?.document(at: selection), let value = document[path],
        let literal = ValueText(cell: value).filterLiteral, ConditionVocabulary.begins(literal, typed),
        !values.contains(literal)
      else { continue }
      values.append(literal)
    }
    return values.sorted()
  }
}
