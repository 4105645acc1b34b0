/// A headless operation of the program, as `strata records PATH DATASTORE`.
///
/// The usage text, the man page, the shells' completions and the parsing of arguments all come from this description.
package struct Verb: Sendable, Hashable {
  /// The word after `strata`; empty for the browser itself.
  package var name: String
  /// The operands after it, in order.
  package var operands: [Operand]
  package var options: [Option]
  /// One line, as a command: "Print the records of a datastore."
  package var summary: String
  /// Further sentences for the man page.
  package var details: String

  package init(
    _ name: String, _ operands: [Operand], _ options: [Option] = [], summary: String, details: String = ""
  ) {
    self.name = name
    self.operands = operands
    self.options = options
    self.summary = summary
    self.details = details
  }

  /// A positional argument.
  package struct Operand: Sendable, Hashable {
    /// As the usage prints it: `PATH`.
    package var name: String
    package var kind: Kind
    package enum Kind: Sendable, Hashable { case required, optional, repeated, repeatedOrNone }

    package static func required(_ name: String) -> Self { Self(name: name, kind: .required) }
    package static func optional(_ name: String) -> Self { Self(name: name, kind: .optional) }
  }

  /// A named argument.
  package struct Option: Sendable, Hashable {
    /// With its dashes: `--index`.
    package var name: String
    /// The name of its value; nil for a switch.
    package var value: String?
    package var summary: String
    /// Whether it may be given several times.
    package var repeats: Bool
    /// The possible values, if they are few.
    package var choices: [String] = []
    /// The options of which it needs one; empty if it needs none.
    private(set) var needed: [String] = []
    /// The only options that it goes with, or nil if it goes with all but `rivals`.
    private(set) var company: [String]?
    private(set) var rivals: [String] = []

    init(_ name: String, _ value: String?, _ summary: String, repeats: Bool = false, choices: [String] = []) {
      (self.name, self.value, self.summary) = (name, value, summary)
      (self.repeats, self.choices) = (repeats, choices)
    }

    /// An option without a value.
    static func flag(_ name: String, _ summary: String) -> Self { Self(name, nil, summary) }

    /// The option where it needs one of others.
    func with(_ others: String...) -> Self { changed { $0.needed = others } }

    /// The option where it makes something else of the verb, so that only some others have a meaning.
    func only(with others: String...) -> Self { changed { $0.company = others } }

    /// The option where it excludes others.
    func without(_ others: String...) -> Self { changed { $0.rivals = others } }

    private func changed(_ change: (inout Self) -> Void) -> Self {
      var copy = self
      change(&copy)
      return copy
    }

    /// Whether it has a meaning beside another option.
    func goes(with other: String) -> Bool {
      other == name || company?.contains(other) != false && !rivals.contains(other)
    }
  }

  /// `strata records PATH DATASTORE [--index NAME] …`
  package var synopsis: String {
    let words = operands.map { operand in
      switch operand.kind {
      case .required: operand.name
      case .optional: "[\(operand.name)]"
      case .repeated: "\(operand.name)…"
      case .repeatedOrNone: "[\(operand.name)…]"
      }
    }
    let switches = options.map { option in
      let text = option.value.map { "\(option.name) \($0)" } ?? option.name
      return option.repeats ? "[\(text)]…" : "[\(text)]"
    }
    return (["strata"] + (name.isEmpty ? [] : [name]) + words + switches).joined(separator: " ")
  }
}
