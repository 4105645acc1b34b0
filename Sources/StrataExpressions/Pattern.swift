package import StrataDocuments

/// A regular expression that is matched in time linear in the text, for any pattern and text.
///
/// Characters are the Unicode scalars of the composed form, in patterns and in texts. It knows `.`, classes (`[a-z]`, `[^…]`, `\d \w \s` and their opposites), groups `( )` and `(?: )`, `|`,
/// `* + ? {n} {n,} {n,m}` and their lazy forms, `^ $ \b \B`, `\n \r \t \f \xHH \uHHHH \u{H…}`. Syntax that would need backtracking
/// (references to groups, look-around) is refused with its column.
package struct Pattern: Sendable, Hashable {
  /// The text as it was written, without slashes.
  package let source: String
  package let ignoresCase: Bool
  let program: PatternProgram

  /// - Parameters:
  ///   - source: The expression; columns of errors count its characters from 1.
  ///   - ignoresCase: Whether upper and lower case are the same.
  package init(_ source: String, ignoresCase: Bool = false) throws(ExpressionError) {
    var parser = PatternParser(source)
    let tree = try parser.pattern()
    self.source = source
    self.ignoresCase = ignoresCase
    program = try PatternProgram(compiling: tree, groups: parser.groups, ignoresCase: ignoresCase)
  }

  /// A pattern that matches exactly this text.
  package init(literally text: String) throws(ExpressionError) {
    source = text
    ignoresCase = false
    program = try PatternProgram(
      compiling: .sequence(NormalForm.composed(text).unicodeScalars.map { .scalar($0) }), groups: 0, ignoresCase: false)
  }

  /// Whether the pattern occurs anywhere in a text. Linear in the text.
  package func occurs(in text: String) -> Bool {
    var machine = PatternMachine(program, captures: false)
    return machine.occurs(in: NormalForm.composed(text))
  }

  /// The places of all occurrences that are not empty, in Unicode scalars of the composed form.
  package func places(in text: String) -> [Range<Int>] {
    var machine = PatternMachine(program, captures: true)
    machine.stepLimit = 1_000_000
    let scalars = Array(NormalForm.composed(text).unicodeScalars)
    var places: [Range<Int>] = []
    var at = 0
    while at <= scalars.count, let found = machine.firstMatch(in: scalars, from: at) {
      if found[0] < found[1] { places.append(found[0]..<found[1]) }
      at = found[0] < found[1] ? found[1] : found[1] + 1
    }
    return places
  }

  /// The text with every occurrence replaced; in the template `$0` stands for the match, `$1`…`$9` for its groups and `$$` for a dollar
  /// sign. Returns nil if that would take more than `stepLimit` steps, as only patterns made for it do.
  package func replacing(in text: String, with template: String, stepLimit: Int = 50_000_000) -> String? {
    var machine = PatternMachine(program, captures: true)
    machine.stepLimit = stepLimit
    let scalars = Array(NormalForm.composed(text).unicodeScalars)
    let template = Array(template.unicodeScalars)
    var result = String.UnicodeScalarView()
    var at = 0
    while at <= scalars.count {
      guard let found = machine.firstMatch(in: scalars, from: at) else { break }
      result.append(contentsOf: scalars[at..<found[0]])
      Self.append(template, filledWith: found, of: scalars, to: &result)
      at = found[1]
      guard found[0] == found[1] else { continue }
      // After an empty match the next one begins a character further on.
      if at < scalars.count { result.append(scalars[at]) }
      at += 1
    }
    if machine.isExhausted { return nil }
    if at == 0 { return text }
    if at < scalars.count { result.append(contentsOf: scalars[at...]) }
    return String(result)
  }

  private static func append(
    _ template: [Unicode.Scalar], filledWith found: [Int], of scalars: [Unicode.Scalar],
    to result: inout String.UnicodeScalarView
  ) {
    var at = 0
    while at < template.count {
      guard template[at] == "$", at + 1 < template.count else {
        result.append(template[at])
        at += 1
        continue
      }
      let next = template[at + 1]
      if "0"..."9" ~= next {
        let group = 2 * Int(next.value - 48)
        if group + 1 < found.count, found[group] >= 0, found[group + 1] >= found[group] {
          result.append(contentsOf: scalars[found[group]..<found[group + 1]])
        }
      } else {
        if next != "$" { result.append("$") }
        result.append(next)
      }
      at += 2
    }
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.source == right.source && left.ignoresCase == right.ignoresCase
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(source)
    hasher.combine(ignoresCase)
  }
}
