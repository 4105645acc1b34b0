/// The arguments of a verb, read by its description.
package struct VerbArguments: Sendable, Hashable {
  package var verb: Verb
  package private(set) var operands: [String] = []
  private var values: [String: [String]] = [:]

  /// Reads the words after the verb. `--` ends the options; `--option=value` is the same as two words.
  ///
  /// - Throws: ``UsageError`` for an unknown option, a value that is missing or not allowed, an option given twice, options that do not go
  ///   together, and operands that are missing or too many.
  package init(_ words: some Sequence<String>, for verb: Verb) throws(UsageError) {
    self.verb = verb
    var remaining = Array(words)[...]
    var optionsEnded = false
    while let word = remaining.popFirst() {
      if optionsEnded || !word.hasPrefix("--") || word == "-" {
        operands.append(word)
      } else if word == "--" {
        optionsEnded = true
      } else {
        try readOption(word, from: &remaining)
      }
    }
    try checkOperands()
    try checkOptions()
  }

  private mutating func readOption(_ word: String, from remaining: inout ArraySlice<String>) throws(UsageError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let name = parts.first, let option = verb.options.first(where: { $0.name == name }) else {
      throw UsageError("\(parts.first ?? word) is not an option of this verb", verb: verb)
    }
    var value = ""
    if let placeholder = option.value {
      guard let given = parts.count > 1 ? parts[1] : remaining.popFirst() else {
        throw UsageError("\(name) needs a value (\(placeholder))", verb: verb)
      }
      value = given
      if !option.choices.isEmpty {
        guard let choice = option.choices.first(where: { $0 == given.lowercased() }) else {
          throw UsageError("\(name) is one of \(option.choices.joined(separator: ", ")), not “\(value)”", verb: verb)
        }
        value = choice
      }
    } else if parts.count > 1 {
      throw UsageError("\(name) takes no value", verb: verb)
    }
    if values[name] != nil, !option.repeats { throw UsageError("\(name) is given twice", verb: verb) }
    values[name, default: []].append(value)
  }

  private func checkOptions() throws(UsageError) {
    let given = verb.options.filter { has($0.name) }
    for option in given {
      if let other = given.first(where: { !option.goes(with: $0.name) }) {
        throw UsageError("\(other.name) does not go with \(option.name)", verb: verb)
      }
      let needed = option.needed.filter { name in verb.options.contains { $0.name == name } }
      if !needed.isEmpty, !needed.contains(where: has) {
        throw UsageError("\(option.name) needs \(needed.joined(separator: " or "))", verb: verb)
      }
    }
  }

  private func checkOperands() throws(UsageError) {
    let required = verb.operands.filter { $0.kind == .required || $0.kind == .repeated }
    if operands.count < required.count {
      throw UsageError("\(required[operands.count].name) is missing", verb: verb)
    }
    let isOpenEnded = verb.operands.contains { $0.kind == .repeated || $0.kind == .repeatedOrNone }
    if !isOpenEnded, operands.count > verb.operands.count {
      throw UsageError("“\(operands[verb.operands.count])” is one argument too many", verb: verb)
    }
    // An identifier may be an empty text; nothing else has an empty name.
    for (place, text) in operands.enumerated() where text.isEmpty {
      let name = verb.operands[min(place, verb.operands.count - 1)].name
      if name != "ID" { throw UsageError("\(name) is missing: the argument is empty", verb: verb) }
    }
  }

  /// Returns the operand at an index, or nil if there are fewer.
  package func operand(_ index: Int) -> String? { operands.indices.contains(index) ? operands[index] : nil }

  /// Returns the operands from an index on.
  package func operands(from index: Int) -> [String] { Array(operands.dropFirst(index)) }

  /// Returns the value of an option, or nil if it was not given.
  package func value(_ option: String) -> String? { values[option]?.last }

  /// Returns all values of an option that may be repeated.
  package func values(_ option: String) -> [String] { values[option] ?? [] }

  /// Whether an option was given.
  package func has(_ option: String) -> Bool { values[option] != nil }

  /// Returns the number given for an option.
  ///
  /// - Throws: ``UsageError`` if it is not a whole number of at least 0.
  package func count(_ option: String) throws(UsageError) -> Int? {
    guard let text = value(option) else { return nil }
    guard let number = Int(text), number >= 0 else {
      throw UsageError("\(option) takes a whole number, not “\(text)”", verb: verb)
    }
    return number
  }
}

/// Invalid arguments; the program ends with status 2.
package struct UsageError: Error, Sendable, CustomStringConvertible {
  package var message: String
  package var verb: Verb?

  package init(_ message: String, verb: Verb? = nil) {
    self.message = message
    self.verb = verb
  }

  package var description: String {
    guard let verb else { return message }
    return "\(message)\nusage: \(verb.synopsis)"
  }
}
